"""Reads continuous queries: what they read, and where they write. The server returns them with complete names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from tsaudit.engines.engine import Downsampling
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import POLICY_SEPARATOR
from tsaudit.model.profile import Database, Profile
from tsaudit.model.server import StoredQuery

_ENGINE: Final = "influxdb1"
_NAME: Final = r'(?:"(?:[^"\\]|\\.)*"|\w+)'
_SAME: Final = ":MEASUREMENT"
"""In place of the measurement to write: the one that is read."""
_PLACE: Final = rf"(?:(?:{_NAME}\.)?{_NAME}?\.)?(?:{_NAME}|{_SAME}|/(?:[^/\\]|\\.)+/)"
_PARTS: Final = re.compile(rf"(?:(?:(?P<database>{_NAME})\.)?(?P<policy>{_NAME})?\.)?(?P<measurement>.+)", re.DOTALL)
_COLUMNS: Final = r"(?:(?!\(SELECT\s).)+?"
"""What a query in parentheses selects. No other query is in there, so that there is only one way to divide them."""
_QUERY: Final = re.compile(
    rf"\bBEGIN\s+(?P<body>SELECT\s.+?\sINTO\s+(?P<target>{_PLACE})\s+FROM\s+(?:\(SELECT\s{_COLUMNS}\sFROM\s+)*"
    rf"(?P<sources>{_PLACE}(?:\s*,\s*{_PLACE})*)(?P<rest>[\s)].*?))\s+END\s*$",
    re.DOTALL,
)
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|(?<=[\s.,(])/(?!\s)(?:[^/\\]|\\.)+/')
"""Names, texts, and regular expressions. The server writes a division with a space behind it."""
_INNERMOST: Final = re.compile(r"\([^()]*\)")
_EVERY: Final = re.compile(r"\b(?:RESAMPLE EVERY |time\()((?:\d+(?:ms|[smhdw]))+)")
_RESAMPLE: Final = re.compile(r"\bRESAMPLE\b", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

_Place = tuple[str, str, str]
"""Database, retention policy, and measurement."""


def downsamplings(profile: Profile) -> Iterator[Downsampling]:
    """The continuous queries of the audited databases that read one retention policy of their own database, also by a
    query in parentheses. Those that read several such queries are left out.
    """
    defaults = {
        database.name: policy.policy
        for database in profile.databases
        if not database.policy_of
        for policy in database.retention or ()
        if policy.default
    }
    for query in profile.stored_queries or ():
        if query.database in defaults and (found := _read(query, profile, defaults)):
            yield found


def writes_again(profile: Profile, database: Database, measurement: str) -> bool:
    """Whether a query with RESAMPLE, which writes its results several times, may write points of the measurement, or of
    any if it is empty. One whose target is not known may write anywhere in its own database.
    """
    targets = {one.statement: one for one in downsamplings(profile)}
    for query in profile.stored_queries or ():
        if not _RESAMPLE.search(query.statement):
            continue
        known = targets.get(query.statement)
        if known is None and query.database == database.server_name:
            return True
        if known and known.target == database.name and (not measurement or measurement in known.writes):
            return True
    return False


def redirection(query: Downsampling, policy: str) -> str:
    """How to let the query read another retention policy. What it missed is left to people: the interval in which the
    points changed places has some of them in each policy.
    """
    match = _QUERY.search(query.statement)
    assert match is not None
    name, database, own, new = (
        ENGINES[_ENGINE].quoted(one) for one in (query.name, query.database, query.policy, policy)
    )
    places = (_PARTS.fullmatch(text) for text in re.findall(_PLACE, match["sources"]))
    sources = ", ".join(f"{database}.{new}.{place['measurement']}" for place in places if place)
    start, end = match.span("sources")
    created = query.statement[:start] + sources + query.statement[end:]
    return (
        f"Let {query.name} read {policy}: `DROP CONTINUOUS QUERY {name} ON {database}; {created}`. If {policy} became "
        f"the default by mistake, undo that instead: `ALTER RETENTION POLICY {own} ON {database} DEFAULT`. Write what "
        "was not summed up meanwhile with SELECT ... INTO, whole intervals only."
    )


def repetition(query: Downsampling, times: str) -> str:
    """The query's statement under a condition on the time, which applies to queries in parentheses, too."""
    match = _QUERY.search(query.statement)
    assert match is not None
    body, outside = match["body"], _outside(match["body"])
    by = re.search(r"\sGROUP BY\s", outside)
    group = by.start() if by else len(body)
    where = re.search(r"\sWHERE\s", outside[:group])
    condition = f" AND ({body[where.end() : group]})" if where else ""
    start = where.start() if where else group
    return f"{body[:start]} WHERE {times}{condition}{body[group:]}"


def _outside(text: str) -> str:
    """The text with everything in quotes or parentheses blanked out, as long as before."""
    text, before = _QUOTED.sub(_blank, text), ""
    while text != before:
        text, before = _INNERMOST.sub(_blank, text), text
    return text


def _blank(match: re.Match[str]) -> str:
    return "_" * len(match[0])


def _read(query: StoredQuery, profile: Profile, defaults: Mapping[str, str]) -> Downsampling | None:
    match = _QUERY.search(query.statement)
    every = [_seconds(one) for one in _EVERY.findall(query.statement)]
    if match is None or not every or re.search(r"\sFROM\s", _QUOTED.sub(_blank, match["rest"])):
        return None
    sources = [_place(text, query.database, defaults) for text in re.findall(_PLACE, match["sources"])]
    policies = {policy for database, policy, _ in sources if database == query.database}
    if len(policies) != 1 or any(database != query.database for database, _, _ in sources):
        return None
    (policy,) = policies
    source = _audited_as(query.database, policy, defaults)
    names = tuple(dict.fromkeys(name for _, _, text in sources for name in _names(text, source, profile)))
    database, target, written = _place(match["target"], query.database, defaults)
    return Downsampling(
        query.name,
        query.database,
        source,
        policy,
        names,
        _audited_as(database, target, defaults),
        names if written == _SAME else (written,),
        timedelta(seconds=max(every)),
        query.statement,
    )


def _seconds(text: str) -> float:
    return sum(int(n) * _SECONDS[unit] for n, unit in re.findall(r"(\d+)(ms|[smhdw])", text))


def _place(text: str, database: str, defaults: Mapping[str, str]) -> _Place:
    """The place; a database or a policy that is not named is the query's own, or the default one."""
    match = _PARTS.fullmatch(text)
    assert match is not None
    own, policy, measurement = (_plain(match[name] or "") for name in ("database", "policy", "measurement"))
    own = own or database
    return own, policy or defaults.get(own, ""), measurement


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name


def _audited_as(database: str, policy: str, defaults: Mapping[str, str]) -> str:
    return database if policy == defaults.get(database) else f"{database}{POLICY_SEPARATOR}{policy}"


def _names(text: str, database: str, profile: Profile) -> Iterator[str]:
    """The measurements that a source names; of a regular expression, those that match it there."""
    if not text.startswith("/"):
        yield text
        return
    try:
        pattern = re.compile(text[1:-1].replace(r"\/", "/"))
    except re.error:
        return
    inside = {m.name for m in profile.measurements if m.database == database}
    yield from sorted(filter(pattern.search, inside))
