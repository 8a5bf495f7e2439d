"""Holds what fixes for Timestream propose against the stand-in, and against the API's own description."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import boto3
from botocore.validate import ParamValidator

from tests.engines.timestream.double import Timestream
from tsaudit.engines.timestream import predicates

_STATEMENT = re.compile(r'(?:for ".*?": )?((?:SELECT|DESCRIBE|SHOW) .*)')
_BEGINS = re.compile(r"\b(?:SELECT|DESCRIBE|SHOW TABLES)\b")


def works(fix: str, server: Timestream) -> None:
    """Whether the service would take each statement, bounded in time, and each command of the fix, in their order.

    Tables that it creates are created on the stand-in.
    """
    for command in commands(fix):
        asked = arguments(command)
        if "create-table" in command:
            server.create_table(asked["DatabaseName"], asked["TableName"])
    for line in fix.splitlines():
        assert line.startswith("aws ") or "aws timestream" not in line, line
        # Each begins a line, so that it can be copied.
        found = _STATEMENT.fullmatch(line)
        assert found or not _BEGINS.search(line), line
        if found:
            server.answer(found[1])
            if found[1].startswith("SELECT"):
                assert "time" in predicates.read(found[1]).filters, line


def commands(text: str) -> list[str]:
    """The commands of the AWS CLI in it, each in one line."""
    joined = re.sub(r" \\\n +", " ", text)
    return re.findall(r"^aws (?:'[^']*'|[^'\n])*", joined, re.MULTILINE)


def arguments(command: str) -> dict[str, Any]:
    """What the command asks the API for; an assertion fails for what the API does not know, or misses."""
    program, service, operation, *words = shlex.split(command)
    assert program == "aws"
    client = boto3.client(service, "eu-central-1")
    asked = {}
    for option, value in zip(words[::2], words[1::2], strict=True):
        assert option.startswith("--"), command
        asked[_pascal(option[2:])] = json.loads(value) if value.startswith("{") else value
    shape = client.meta.service_model.operation_model(_pascal(operation)).input_shape
    report = ParamValidator().validate(asked, shape)
    assert not report.has_errors(), report.generate_report()
    return asked


def _pascal(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("-"))
