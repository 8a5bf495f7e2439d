"""Runs scripts for mongosh in node: what they call goes to a server by the Python driver, in the order of the calls."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from typing import Any, Final

import pymongo
from bson import json_util

from tests.servers import need

_SHELL: Final = """
const fs = require("fs");
Date.prototype.toJSON = function () { return { $date: this.toISOString() }; };
const ISODate = text => new Date(text);
let rest = "";
const ask = (...call) => {
  fs.writeSync(1, JSON.stringify(call) + "\\n");
  const piece = Buffer.alloc(65536);
  while (!rest.includes("\\n")) {
    const read = fs.readSync(0, piece, 0, piece.length);
    if (read === 0) process.exit(1);
    rest += piece.toString("utf8", 0, read);
  }
  const end = rest.indexOf("\\n"), answer = JSON.parse(rest.slice(0, end));
  rest = rest.slice(end + 1);
  if ("error" in answer) throw new Error(answer.error);
  return answer.value;
};
const operations = ["aggregate", "createIndex", "dropIndex", "renameCollection", "totalSize", "updateMany"];
const collection = (database, name) => {
  const found = { find: filter => ({ limit: n => ask(database, name, "find", filter, n) }) };
  for (const one of operations) found[one] = (...rest) => ask(database, name, one, ...rest);
  return found;
};
const db = { adminCommand: command => ask("admin", "", "command", command), getSiblingDB: database => ({
  getCollection: name => collection(database, name),
  getCollectionNames: () => ask(database, "", "names"),
  runCommand: command => ask(database, "", "command", command),
  createCollection: (name, options) => ask(database, "", "create", name, options),
}) };
"""
_SECONDS: Final = 60


def run(scripts: Sequence[str], url: str) -> None:
    """Runs the scripts one after the other. AssertionError for what the server or the shell refuses."""
    need("node", "nodejs")
    program = _SHELL + "\n".join(f"{{\n{script}\n}}" for script in scripts)
    process = subprocess.Popen(
        ["node", "-e", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watch = threading.Timer(_SECONDS, process.kill)
    watch.start()
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with pymongo.MongoClient[dict[str, Any]](url) as client:
            for line in process.stdout:
                process.stdin.write(_answered(client, line) + "\n")
                process.stdin.flush()
        errors = process.stderr.read()
        assert process.wait(timeout=_SECONDS) == 0, errors[-2000:]
    finally:
        watch.cancel()
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def _answered(client: pymongo.MongoClient[dict[str, Any]], line: str) -> str:
    database, name, operation, *arguments = json_util.loads(line, json_options=json_util.JSONOptions(tz_aware=True))
    try:
        value = _called(client, database, name, operation, arguments)
    except pymongo.errors.PyMongoError as error:
        return json.dumps({"error": f"{operation} on {name}: {error}"})
    return json_util.dumps({"value": value}, json_options=_OPTIONS[operation in _OF_DOCUMENTS])


_OPTIONS: Final = (json_util.RELAXED_JSON_OPTIONS, json_util.CANONICAL_JSON_OPTIONS)
_OF_DOCUMENTS: Final = frozenset({"aggregate", "find"})
"""Their answers are written back as they are, so types must stay."""


def _called(
    client: pymongo.MongoClient[dict[str, Any]], database: str, name: str, operation: str, arguments: list[Any]
) -> Any:
    inside = client[database]
    if operation == "names":
        return inside.list_collection_names()
    if operation == "command":
        return inside.command(arguments[0])
    if operation == "create":
        inside.create_collection(arguments[0], **arguments[1])
        return None
    found = inside[name]
    if operation == "aggregate":
        return list(found.aggregate(arguments[0]))
    if operation == "find":
        return list(found.find(arguments[0]).limit(arguments[1]))
    if operation == "totalSize":
        (stats,) = found.aggregate([{"$collStats": {"storageStats": {}}}])
        return stats["storageStats"]["totalSize"]
    if operation == "createIndex":
        found.create_index(list(arguments[0].items()), **(arguments[1] if len(arguments) > 1 else {}))
    elif operation == "renameCollection":
        found.rename(arguments[0])
    elif operation == "dropIndex":
        found.drop_index(arguments[0])
    elif operation == "updateMany":
        found.update_many(*arguments)
    else:
        raise AssertionError(f"the shell has no {operation}")
    return None


def one_line(commands: str) -> str:
    """The commands without their line breaks."""
    return commands.replace("\n  ", " ")
