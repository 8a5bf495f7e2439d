"""Plain error messages for a configuration file, in place of pydantic's: what is wrong, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from tsaudit.config import keys, meant, yaml_document
from tsaudit.config.settings import Path
from tsaudit.engines.registry import ENGINES
from tsaudit.text import nearest, printable

_EXPECTED: Final = {
    "int_parsing_size": "expected a whole number of fewer digits",
    "finite_number": "expected a number, not infinity",
    "string_pattern_mismatch": "expected letters, digits, `_`, `.`, and `-`, with a letter or digit first",
}
"""What was expected, by the kind of pydantic's error, where the type of the value does not show it."""
_FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "duration": meant.duration,
    "size": meant.size,
    "schedule": meant.schedule,
    "web_address": meant.web_address,
    "string_pattern_mismatch": meant.name,
}
"""The function that guesses what a text in another format means, by the kind of the error."""
_OTHER_NAMES: Final = {
    name: key
    for key, names in {
        "engine": ("type", "kind", "driver", "dialect", "database_type", "db_type", "product"),
        "url": ("host", "hostname", "server", "address", "uri", "dsn", "endpoint", "port", "path", "connection"),
        "username": ("user", "login"),
        "password": ("pass", "secret", "token", "api_key"),
        "databases": ("db", "database", "dbname", "bucket", "buckets", "schema", "schemas"),
        "include": ("tables", "only"),
        "exclude": ("ignore", "skip"),
        "schedule": ("cron", "crontab", "interval", "every", "timezone", "time_zone", "tz"),
        "limits": ("thresholds",),
        "rules": ("checks", "severity", "severities"),
        "owners": ("teams", "contacts"),
        "owner": ("team", "contact"),
        "targets": ("sources", "connections", "servers"),
        "slack": ("alerts", "notifications"),
        "channel": ("slack", "room"),
    }.items()
    for name in names
}
"""Key of another program to the key of tsaudit.yaml with the same meaning."""


def place(path: Path) -> str:
    """The place in words: `targets[0].engine`; empty for the top of the file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part, 80)}" for part in path)
    return text.removeprefix(".")


def unset(name: str) -> str:
    """The message about a reference whose variable does not exist."""
    return f"the environment variable {name} is not set; export it or write the value here"


def not_passed(name: str) -> str:
    """The message about a reference whose variable does not exist, if a program passes the variables."""
    return (
        f"the variable {name} has no value; pass it (in Airflow, by a connection in `connections` of a type whose "
        "provider is installed), or export it"
    )


def no_target(name: str, known: Collection[str]) -> str:
    """The message about a target that the configuration does not have."""
    hint = nearest(name, known) or f"; the configuration has {', '.join(list(known)[:10])}"
    return f"no target is named `{name}`{hint}"


def problem(item: Mapping[str, Any], path: Path, written: str | None) -> str:
    """The message for one of pydantic's errors. `written` is the text in the file; None for secrets, lists, and
    mappings.
    """
    kind, context, schema = item["type"], item.get("ctx", {}), keys.at(path)
    if kind == "missing":
        return _missing(str(path[-1]), item["input"], schema)
    if kind in ("literal_error", "enum"):
        return _not_a_choice(keys.choices(schema), written)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "is empty" if context.get("min_length") == 1 else f"needs at least {context['min_length']} entries"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    wrong = context.get("problem") or _bound(context) or _EXPECTED.get(kind) or f"expected {keys.kind(schema)}"
    shown = written if not keys.is_secret(schema) or _is_open(_pair(written or "", schema)) else None
    return f"{wrong}{_got(item, shown)}{_better(item, path, schema, written)}"


def unknown_key(path: Path, missing: Collection[str], value: object) -> tuple[str, str]:
    """What is wrong with a key, and the key that was probably meant; the latter is empty if that is not clear.

    `missing`: the required keys that are missing at the same place.
    """
    parent = keys.at(path[:-1])
    name, known = str(path[-1]), keys.names(parent)
    if value is None and (pair := _pair(name, parent)):
        return f"write `{keys.as_line(*pair)}`, with a blank after the `:`", pair[0]
    if name != name.strip():
        return yaml_document.NO_SPACES, ""
    if (other := _OTHER_NAMES.get(name.lower(), "")) in known or (other := f"{name.lower()}s") in known:
        about = keys.says(keys.at((*path[:-1], other)))
        return f"unknown key; use `{other}` ({about[:1].lower()}{about[1:]})", other
    if near := nearest(name, missing):
        return f"unknown key{near}", next(key for key in missing if key in near)
    if homes := _homes(name, path):
        return f"unknown key here; it belongs under {' or '.join(f'`{home}`' for home in homes)}", ""
    if near := nearest(name, known):
        return f"unknown key{near}", ""
    if missing:
        return f"unknown key; `{next(iter(missing))}` is missing here", next(iter(missing))
    return "unknown key" + (f"; known here: {', '.join(known)}" if known else ""), ""


def comment(text: str, schema: keys.Schema) -> str:
    """The message about a text that looks like a comment; empty if no text is expected there."""
    if schema.get("type") != "string":
        return ""
    better = "put it in quotes" if keys.is_secret(schema) else f'write "{printable(text, 60)}"'
    return f"has no value, because what begins with `#` is a comment; {better}, or put a blank after the `#`"


def _homes(name: str, path: Path) -> list[str]:
    """The keys below which a key of this name belongs: those that share most of the path."""

    def shared(place: Path) -> int:
        both = zip(place, path, strict=False)
        return next((n for n, (theirs, ours) in enumerate(both) if theirs not in (ours, "*")), len(path))

    found = keys.places(name)
    most = max(map(shared, found), default=0)
    above = [[str(part) for part in place[:-1] if part != "*"] for place in found if shared(place) == most]
    return list(dict.fromkeys(one[-1] for one in above if one))[:2]


def _missing(key: str, parent: object, schema: keys.Schema) -> str:
    said = parent if isinstance(parent, dict) else {}
    if choices := keys.choices(schema):
        return f"is missing; one of {', '.join(choices)}"
    example = keys.example(schema)
    if key == "url":
        # Only the engine knows its format of addresses.
        engine = ENGINES.get(str(said.get("engine"))) or next(iter(ENGINES.values()))
        example = engine.example_url.replace("{name}", printable(str(said.get("name", "metrics")), 40))
    return f"is missing; an example is `{example if example.startswith('- ') else f'{key}: {example}'}`"


def _bound(context: Mapping[str, Any]) -> str:
    for key, phrase in (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most")):
        if key in context:
            return f"must be {phrase} {context[key]:g}"
    return ""


def _got(item: Mapping[str, Any], written: str | None) -> str:
    if written is not None:
        return f", got `{printable(written, 60)}`"
    kinds = {dict: "`key: value` lines", list: "a list", type(None): "nothing"}
    found = kinds.get(type(item.get("input")))
    return f", got {found}" if found else ""


def _not_a_choice(choices: list[str], written: str | None) -> str:
    shown = f" `{printable(written, 60)}`" if written is not None else ""
    return f"unknown value{shown}" + (nearest(written or "", choices) or f"; one of {', '.join(choices)}")


def _better(item: Mapping[str, Any], path: Path, schema: keys.Schema, written: str | None) -> str:
    """What to write instead, to append to the message: `; write 7d`; empty if it is not clear."""
    got, wanted = item.get("input"), schema.get("type")
    if wanted == "object" and isinstance(got, list):
        return f"; write them without the `- `{_as_lines(got, schema)}"
    if wanted == "array" and isinstance(got, dict):
        inside, first = keys.names(keys.at((*path, 0))), next(iter(got), "")
        if "name" in inside and first not in inside:
            return f"; write `- name: {printable(first, 60)}` and its keys below"
        return "; put `- ` before the first line of each"
    if wanted == "string" and isinstance(got, dict) and not any(got.values()):
        return "; text that begins with `{` needs quotes"
    if wanted == "number" and isinstance(got, dict) and len(got) == 1:
        ((name, value),) = got.items()
        value = value if isinstance(value, str) else "..."
        return f"; write `{printable(f'{path[-1]}.{name}: {value}', 120)}`"
    text = "" if written is None else _meant(item["type"], path, schema, written)
    if wanted not in ("array", "object") and not keys.takes(path, text.strip('"')):
        return ""
    return f"; write {f'`{text}`' if ' ' in text else text}" if text else ""


def _meant(problem: str, path: Path, schema: keys.Schema, written: str) -> str:
    """The text in the format that is expected at the place; empty if it is not clear."""
    wanted = schema.get("type")
    if form := _FORMS.get(problem):
        return printable(form(written), 120)
    if wanted in ("number", "integer"):
        share = keys.is_share(schema)
        whole = wanted == "integer"
        percent = f"{written}%" if share and problem == "less_than_equal" else written
        return meant.number(percent, str(path[-1]), share=share, whole=whole)
    if wanted == "array" and not keys.is_secret(schema):
        return f"[{', '.join(keys.in_yaml(one.strip()) for one in written.split(',') if one.strip())}]"
    if wanted != "object":
        return ""
    if pair := _pair(written, schema):
        return keys.as_line(*pair)
    # If there are several such keys, the main one is declared first.
    first = next(iter(keys.names(schema)), "")
    is_text = keys.at_key(schema, first).get("type") in ("string", "boolean")
    fits = is_text and not keys.is_secret(schema) and keys.takes((*path, first), written)
    return f"{first}: {keys.in_yaml(written)}" if fits else ""


def _pair(text: str, schema: keys.Schema) -> tuple[str, str] | None:
    """The key and the value that the text probably stands for, if such a key belongs there; otherwise None."""
    pair = meant.pair(text)
    return pair if pair and pair[0] in keys.names(schema) else None


def _is_open(pair: tuple[str, str] | None) -> bool:
    return pair is not None and keys.is_shown(pair[0])


def _as_lines(entries: list[Any], schema: keys.Schema) -> str:
    """An example with the items of a list as keys, where names with values are expected."""
    if keys.is_secret(schema) or not entries or not all(isinstance(entry, str) for entry in entries):
        return ""
    if not (names := keys.names(schema)):
        inside = keys.at_key(schema, entries[0])
        example = f"{{{keys.example(inside)}}}" if inside.get("type") == "object" else keys.example(inside)
        return f", such as `{printable(entries[0], 60)}: {example}`"
    taking = next((name for name in names if keys.at_key(schema, name).get("type") == "array"), None)
    return f", such as `{taking}: [{', '.join(map(keys.in_yaml, entries))}]`" if taking else ""
