"""What is wrong with a configuration file: contradictions across it, and plain messages in place of pydantic's.

A message says what is wrong, and what is expected. The checks read plain data that may still contain other mistakes.
The rules are only loaded if the file names one, because that takes longer than all other checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final

from tsaudit import plugins
from tsaudit.config.settings import Path, Settings
from tsaudit.config.types import SEVERITY, USE
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import fits
from tsaudit.model.finding import RULELESS_CODES
from tsaudit.policy import limit_plans, plain, takes_in
from tsaudit.rules import all_rules, rule_named, unusable
from tsaudit.text import listed, near_rule, nearest, printable

SLACK: Final = "slack"
"""The built-in notifier, which is not a plug-in."""
_LEVELS: Final = ((), ("targets", "*"), ("targets", "*", "measurements", "*"))
"""The levels of the file at which rules and limits can be set."""
APPRISE: Final = "apprise"
"""The notifier whose settings are owners, each with an address."""


def contradictions(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Each place in the file that contradicts something, with the problem.

    While a plug-in with rules cannot be loaded, unknown rules and limits are not reported.
    """
    yield from _history(data)
    yield from _names_and_owners(data)
    yield from _limits(data)
    yield from _rules(data)
    yield from _routes(data)
    yield from _notifiers(data)


def unused(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Each place with a pattern or limit that matches nothing in the file, with the problem. These do no harm, but have
    no effect.
    """
    for place, pattern, names, what in _route_patterns(data):
        if _is_pattern(pattern) and not any(fits(name, [pattern]) for name in names):
            yield place, f"`{pattern}` matches no {what}{_near(pattern, names)}"
    for place in _rule_places(data):
        if _is_pattern(pattern := str(place[-1])) and not any(takes_in(pattern, r.code, r.name) for r in all_rules()):
            words = [word for rule in all_rules() for word in (rule.code, rule.name)]
            yield place, f"`{pattern}` matches no rule{_near(pattern, words)}"
    used = dict(_at(data, "targets", "*", "engine"))
    for place in _limit_places(data):
        name = str(place[-1]).rpartition(".")[0]
        engines = next((rule.engines for rule in all_rules() if rule.name == name), None)
        own = used.get((*place[:2], "engine")) if place[0] == "targets" else None
        mine = {own} if own else set(used.values())
        if engines is not None and mine and not mine & engines:
            yield place, f"has no effect: {name} does not apply to {', '.join(sorted(mine))}"


def _history(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """A history inside an audited database is a problem: it would be audited too, and tsaudit would need write
    permission there.
    """
    history = data.get("history")
    if history is not None and any(url == history for _, url in _at(data, "targets", "*", "url")):
        yield ("history",), "is a target's address; the history must not be inside an audited database"


def _owners(data: Mapping[str, Any]) -> Mapping[str, Any]:
    owners = data.get("owners")
    return owners if isinstance(owners, dict) else {"default": None}


def _names_and_owners(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    owners = _owners(data)
    if "default" not in owners:
        yield ("owners",), "needs an entry `default` for findings without another owner"
    seen: set[str] = set()
    for place, name in _at(data, "targets", "*", "name"):
        if name in seen:
            yield place, f"two targets are named `{name}`; names must be unique, because history is stored under them"
        seen.add(name)
    for pattern in (("targets", "*"), ("targets", "*", "measurements", "*"), ("routes", "*")):
        for place, owner in _at(data, *pattern, "owner"):
            if owner not in owners:
                near = nearest(owner, owners) or f"; add `{owner}:` there, with its channel"
                yield place, f"owner `{owner}` is not defined under `owners`{near}"


def _limits(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for place, plan in _at(data, "targets", "*", "plan"):
        if plan not in (plans := limit_plans()):
            near = nearest(plan, plans) or f"; one of {', '.join(plans)}"
            yield place, f"unknown plan `{plan}`{near}"
    for place in _limit_places(data):
        known = {f"{rule.name}.{threshold.name}" for rule in all_rules() for threshold in rule.thresholds}
        name = str(place[-1])
        if name not in known and not unusable():
            near = nearest(name, sorted(known), cutoff=0.5)
            yield place, "there is no such limit" + (near or "; `tsaudit explain RULE` lists a rule's limits")


def _limit_places(data: Mapping[str, Any]) -> Iterator[Path]:
    """Every place that sets a limit; its last part names it."""
    for prefix in _LEVELS:
        yield from (place for place, _ in _at(data, *prefix, "limits", "*"))


def _rules(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Rules that do not exist, and names under `rules` that are not rules."""
    for place in _rule_places(data):
        name = str(place[-1])
        if any(plain(name) in (code.lower(), word) for code, word in RULELESS_CODES.items()):
            yield place, "cannot be switched off: it reports what was not audited"
        elif not _is_pattern(name) and rule_named(plain(name)) is None and not unusable():
            yield place, f"there is no rule `{name}`{near_rule(name, {rule.code: rule.name for rule in all_rules()})}"


def _rule_places(data: Mapping[str, Any]) -> Iterator[Path]:
    """Every place that configures a rule; its last part names the rule."""
    for prefix in _LEVELS:
        for place, found in _at(data, *prefix, "rules", kind=dict):
            yield from ((*place, name) for name in found)


def _routes(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Routes that name a rule or a target that does not exist. Patterns may match nothing, since matches may be added
    later.
    """
    for place, name, names, what in _route_patterns(data):
        if not _is_pattern(name) and name not in names and not (what == "rule" and unusable()):
            yield place, f"there is no {what} `{name}`{_near(name, names)}"


def _notifiers(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Notifiers that no installed package provides. A notifier that is installed but broken is not reported here, but
    when it fails to notify.
    """
    found = data.get("notifiers")
    for name, about in found.items() if isinstance(found, dict) else ():
        kind = about.get(USE, name) if isinstance(about, dict) else name
        known = [point.name for _, point in plugins.installed(plugins.NOTIFIERS)]
        if name == SLACK:
            yield ("notifiers", name), "Slack is set up under `slack:`"
        elif kind not in known:
            said = "of that name" if kind == name else f"`{kind}`"
            yield ("notifiers", name), f"no installed package provides a notifier {said}{nearest(str(kind), known)}"
        elif isinstance(about, dict) and about.get(SEVERITY, "critical") not in ("warning", "critical"):
            yield ("notifiers", name, SEVERITY), "expected warning or critical"
        elif kind == APPRISE and isinstance(about, dict):
            for owner in about.keys() - {*_owners(data), SEVERITY, USE}:
                yield ("notifiers", name, owner), f"there is no owner `{owner}`{nearest(str(owner), _owners(data))}"


def _route_patterns(data: Mapping[str, Any]) -> Iterator[tuple[Path, str, Collection[str], str]]:
    """Every pattern for rules and targets in the routes, with the names it may match and the kind of these names."""
    if "routes" not in data:
        return
    rules = [*RULELESS_CODES.items(), *((rule.code, rule.name) for rule in all_rules())]
    # A dictionary instead of a list, because there may be a route for each of thousands of targets.
    known = {
        "rules": (dict.fromkeys(word for pair in rules for word in pair), "rule"),
        "targets": (dict.fromkeys(name for _, name in _at(data, "targets", "*", "name")), "target"),
    }
    for key, (names, what) in known.items():
        if not any("${" in name for name in names):
            yield from ((place, text, names, what) for place, text in _at(data, "routes", "*", key, "*"))


def _is_pattern(text: str) -> bool:
    """Whether the text is a pattern. A reference to a variable that is not set counts as one, because its value may be
    anything.
    """
    return any(c in text for c in "*?[") or "${" in text


def _near(pattern: str, names: Collection[str]) -> str:
    return nearest(pattern.strip("*?[]"), names) or f"; there is {', '.join(list(names)[:3])}, ..."


def _at(data: object, *pattern: str, kind: type = str) -> Iterator[tuple[Path, Any]]:
    """Every text, or value of the type `kind`, at places that match `pattern`, where `*` stands for any key or
    position.
    """
    if not pattern:
        if isinstance(data, kind):
            yield (), data
        return
    if isinstance(data, list):
        entries: list[tuple[int | str, Any]] = list(enumerate(data)) if pattern[0] == "*" else []
    elif isinstance(data, dict):
        entries = list(data.items()) if pattern[0] == "*" else [(pattern[0], data.get(pattern[0]))]
    else:
        return
    for key, value in entries:
        for place, found in _at(value, *pattern[1:], kind=kind):
            yield (key, *place), found


Schema = Mapping[str, Any]
"""The JSON schema of one value."""

_KINDS: Final = {
    "string": "text",
    "integer": "a whole number in digits, such as 5000",
    "number": "a number in digits, such as 5000 or 0.8",
    "boolean": "true or false",
    "array": "a list such as [a, b]",
    "object": "`key: value` lines",
}
_EXPECTED: Final = {
    "int_parsing_size": "expected a whole number of fewer digits",
    "finite_number": "expected a number, not infinity",
    "string_pattern_mismatch": "expected letters, digits, `_`, `.`, and `-`, with a letter or digit first",
}
"""What was expected, by the kind of pydantic's error, where the type of the value does not show it."""


def place(path: Path) -> str:
    """The place in words: `targets[0].engine`; empty for the top of the file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part, 80)}" for part in path)
    return text.removeprefix(".")


def unset(*names: str) -> str:
    """The message about references whose variables do not exist."""
    if len(names) > 1:
        return f"the environment variables {listed(names)} are not set; export them"
    return f"the environment variable {names[0]} is not set; export it"


def not_passed(*names: str) -> str:
    """The message about references whose variables do not exist, if a program passes the variables."""
    what, them = f"the variable {names[0]} has", "it"
    if len(names) > 1:
        what, them = f"the variables {listed(names)} have", "them"
    airflow = "in Airflow, list the connection in `connections`, and install the provider of its type"
    if all(name.endswith(("_LOGIN", "_PASSWORD")) for name in names):
        airflow += "; leave the line out if the connection has no login"
    return f"{what} no value; pass or export {them} ({airflow})"


def no_target(name: str, known: Collection[str]) -> str:
    """The message about a target that the configuration does not have."""
    hint = nearest(name, known) or f"; the configuration has {', '.join(list(known)[:10])}"
    return f"no target is named `{name}`{hint}"


def problem(item: Mapping[str, Any], path: Path, written: str | None) -> str:
    """The message for one of pydantic's errors. `written` is the text in the file; None for secrets, lists, and
    mappings.
    """
    kind, context, schema = item["type"], item.get("ctx", {}), _schema_at(path)
    shown = None if _is_secret(schema) else written
    if kind == "missing":
        return f"is missing{_example(str(path[-1]), item['input'], schema)}"
    if kind in ("literal_error", "enum"):
        return _not_a_choice(_choices(schema), shown)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "is empty" if context.get("min_length") == 1 else f"needs at least {context['min_length']} entries"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    wrong = context.get("problem") or _bound(context) or _EXPECTED.get(kind) or f"expected {_kind(schema)}"
    return f"{wrong}{_got(item, shown)}"


def unknown_key(path: Path, value: object) -> str:
    """What is wrong with a key that does not exist at the place."""
    if lacks_blank(path, value):
        return "write `key: value`, with a blank after the `:`"
    name, known = str(path[-1]), list(_schema_at(path[:-1]).get("properties", ()))
    hint = nearest(name.strip(), known) or (f"; known here: {', '.join(known)}" if known else "")
    return f"unknown key{hint}"


def lacks_blank(path: Path, value: object) -> bool:
    """Whether the key is probably a key together with its value, which may be secret: in `{token:x}`, YAML reads all of
    `token:x` as a key without a value.
    """
    return value is None and any(mark in str(path[-1]).strip() for mark in ":= ")


def comment(path: Path) -> str:
    """The message about a text that looks like a comment; empty if no text is expected at the place."""
    if _schema_at(path).get("type") != "string":
        return ""
    return "has no value, because what begins with `#` is a comment; put it in quotes, or put a blank after the `#`"


def _example(key: str, parent: object, schema: Schema) -> str:
    if choices := _choices(schema):
        return f"; one of {', '.join(choices)}"
    example = next(iter(schema.get("examples", ())), "")
    if key == "url":
        # Only the engine knows its format of addresses.
        said = parent if isinstance(parent, dict) else {}
        engine = ENGINES.get(str(said.get("engine"))) or next(iter(ENGINES.values()))
        example = engine.example_url.replace("{name}", printable(str(said.get("name", "metrics")), 40))
    return f"; an example is `{key}: {example}`" if example else ""


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


def _schema_at(path: Path) -> Schema:
    """The schema of the value at the place; empty if there is no such key."""
    found = _schema()
    for part in path:
        below = found.get("properties", {}).get(part) or found.get("items") or found.get("additionalProperties")
        found = _resolved(below) if isinstance(below, dict) else {}
    return found


def _kind(schema: Schema) -> str:
    return _KINDS.get(schema.get("type", ""), "another value")


def _choices(schema: Schema) -> list[str]:
    """The only values that are accepted; empty if there are others, too."""
    return [str(choice) for choice in schema.get("enum", ())]


def _is_secret(schema: Schema) -> bool:
    """Whether the value, or one of the values in it, is secret."""
    within = [*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")]
    return bool(schema.get("writeOnly")) or any(_is_secret(_resolved(one)) for one in within if isinstance(one, dict))


@cache
def _schema() -> Schema:
    return Settings.model_json_schema()


def _resolved(schema: Schema) -> Schema:
    """The schema that a reference or an optional value stands for."""
    said = {key: schema[key] for key in ("description", "examples") if key in schema}
    if options := [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]:
        return {**_resolved(options[0]), **said}
    if "$ref" in schema:
        return {**_schema()["$defs"][schema["$ref"].rpartition("/")[2]], **said}
    return schema
