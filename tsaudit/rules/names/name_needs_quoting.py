"""NAM003."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Final

from tsaudit.engines.language import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Rename
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, rule, subject_of
from tsaudit.rules.merged_families import grids_of
from tsaudit.rules.new_names import distinct, in_families
from tsaudit.text import listed, many, number

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTES: Final = frozenset("\"'`\\")
_MOST_APART: Final = 3
"""Measurements that get a finding each. If more have such names, it is the habit of what writes them."""


@rule(
    code="NAM003",
    title="Names that need quotes in queries",
    guidelines=("B5",),
    requires={"measurements", "tag_keys", "field_types"},
    uses={"options"},
)
def name_needs_quoting(case: Case) -> Iterator[Finding]:
    """Names that the engine's query language interprets as something else without quotes.

    These are reserved words, and names with characters other than ASCII letters, digits, and underscores. Words that
    the engine accepts as names, such as `time` and `value`, are not reported. All such names of a measurement are one
    finding; if more than three measurements of a database have some, these are one finding, too. Names of measurements
    that data-in-measurement-name reports are left out, and so are tables whose columns GreptimeDB creates from protocol
    names, for traces and metrics.

    Many collectors have such names by design, such as Telegraf's `name` and `user` and OpenTelemetry's `service.name`.
    Quotes are enough to use them, so the finding is a note. It is a warning only if quotes are not enough: if a
    name contains a quotation mark, a backslash, or an invisible character, or has a blank at either end.

    ## Why it matters

    A query without the quotes fails, or worse, means something else: `select order from t` is an error, `"order"` is a
    column, and `'order'` is a text literal. Tools and templates that build queries often forget the quotes.

    ## Example

    A tag `tag@1-23` and a field `example-field`: `example-field` without quotes is `example` minus `field`.

    ## Fix

    Use only letters, digits, and underscores, and add a word to a reserved word: `order_id`, `group_name`.

    ## References

    - Keywords and special characters:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-keywords-and-special-characters
    - InfluxDB 3's SQL keywords: https://docs.influxdata.com/influxdb3/core/reference/sql/#keywords
    - InfluxQL keywords: https://docs.influxdata.com/influxdb/v1/query_language/spec/#keywords
    - SQLite keywords: https://www.sqlite.org/lang_keywords.html
    - PostgreSQL keywords: https://www.postgresql.org/docs/current/sql-keywords-appendix.html
    - DuckDB keywords: https://duckdb.org/docs/stable/sql/keywords_and_identifiers
    - GreptimeDB's identifiers and keywords: https://github.com/GreptimeTeam/greptimedb/blob/main/src/sql/src/dialect.rs
    """
    reserved = keywords(case.profile.engine)
    for database in case.profile.databases:
        # In SQL, the user did not choose the name of the file's only schema, and no query needs it. A retention policy
        # is named after its duration (`1y`); few queries use that name, and there is no alternative.
        if database.policy_of or case.engine.language is not Language.INFLUXQL:
            continue
        if reason := _reason(database.name, reserved):
            yield _finding(case, Subject(database.name), {database.name: reason})
    for database in case.profile.databases:
        escaped, quoted = _in_measurements(case, database.name)
        if len(quoted) > _MOST_APART:
            yield _habit(case, quoted)
            quoted = []
        new_names = _plain_names(case, database.name) if escaped or quoted else {}
        for measurement, bad in (*escaped, *quoted):
            renames = _renames(case, measurement, bad, new_names.get(measurement.name))
            yield _finding(case, subject_of(measurement), bad, measurement, renames)


_Bad = tuple[Measurement, dict[str, str]]
"""A measurement, and each of its names that needs quotes with the reason."""


def _in_measurements(case: Case, database: str) -> tuple[list[_Bad], list[_Bad]]:
    """Those with a name for which quotes are not enough, and the others that have such names."""
    reserved, families = keywords(case.profile.engine), in_families(case, database)
    others = {m.name: m for m in case.measurements if m.database == database and m.name not in families}
    families = families | {name for grid in grids_of(case, others) for name in grid.members}
    escaped, quoted = list[_Bad](), list[_Bad]()
    for measurement in case.measurements:
        if measurement.database != database or case.engine.has_given_columns(measurement):
            continue
        names = [] if measurement.name in families else [measurement.name]
        names = [n for n in (*names, *measurement.columns) if not case.engine.names_itself(n)]
        if bad := {name: reason for name in names if (reason := _reason(name, reserved))}:
            (escaped if any(map(_needs_escape, bad)) else quoted).append((measurement, bad))
    return escaped, quoted


def _needs_escape(name: str) -> bool:
    """Whether quotes are not enough to write the name, or nobody sees what it contains."""
    return name != name.strip() or any(c in _QUOTES or not c.isprintable() for c in name)


@functools.cache
def keywords(engine: str) -> frozenset[str]:
    """Words of the engine's query languages that cannot be names without quotes, in lower case."""
    files = [resources.files("tsaudit.engines").joinpath(str(file)) for file in ENGINES[engine].keywords]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _reason(name: str, reserved: frozenset[str]) -> str:
    """Why the name needs quotes; empty if it does not."""
    if name.lower() in reserved:
        return "reserved word"
    if _PLAIN.fullmatch(name):
        return ""
    special = sorted(set(re.sub(r"[A-Za-z0-9_]", "", name)))
    return f"contains {' '.join(map(_shown, special))}" if special else "starts with a digit"


def _shown(character: str) -> str:
    """The character in readable form."""
    if character.isspace():
        return "blank" if character == " " else f"U+{ord(character):04X}"
    return character if character.isprintable() else f"U+{ord(character):04X}"


def _plain(name: str, reserved: frozenset[str]) -> str:
    """A suggested name with plain characters only."""
    words = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "renamed"
    words = f"n{words}" if words[0].isdigit() else words
    return f"{words}_value" if words.lower() in reserved else words


def _finding(
    case: Case,
    subject: Subject,
    bad: dict[str, str],
    measurement: Measurement | None = None,
    renames: tuple[Rename, ...] = (),
) -> Finding:
    reserved = keywords(case.profile.engine)
    columns = [name for name in bad if measurement and name in measurement.columns]
    first = columns[0] if columns else next(iter(bad))
    return Finding(
        subject=subject,
        message=f"{listed([f'{name} ({reason})' for name, reason in bad.items()], 5)} "
        f"{'needs' if len(bad) == 1 else 'need'} quotes in every query.",
        fix=f"Until then quote them in every query: {case.quoted(list(bad)[:3])}."
        if measurement
        else f"Make a database with a plain name, such as {_plain(first, reserved)}, and copy the data there.",
        changes=renames,
        observed=len(bad),
        unit="names",
        main_contributor=first,
        evidence=(
            Evidence("names that need quotes", number(len(bad))),
            *(Evidence(name, reason) for name, reason in list(bad.items())[:20]),
        ),
        facts=("measurements", "tag_keys", "field_types"),
    )


def _habit(case: Case, found: Sequence[_Bad]) -> Finding:
    """One finding for all of them. No new names: what writes so many measurements probably fixes theirs by design."""
    inside: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for measurement, bad in found:
        reasons |= bad
        for name in bad:
            inside.setdefault(name, []).append(measurement.name)
    most = sorted(inside, key=lambda name: (-len(inside[name]), name))
    return Finding(
        subject=subject_of(found[0][0]),
        message=f"{many(len(most), 'name')} in {many(len(found), case.engine.words.measurement)} "
        f"{'needs' if len(most) == 1 else 'need'} quotes in every query: "
        f"{listed([f'{name} ({reasons[name]})' for name in most], 5)}.",
        fix=f"Quote them in every query: {case.quoted(most[:3])}. If you chose the names, use plain ones for what you "
        "write next.",
        observed=len(most),
        unit="names",
        main_contributor=most[0],
        evidence=(
            Evidence("names that need quotes", number(len(most))),
            *(Evidence(name, f"{reasons[name]}; in {listed(inside[name], 4)}") for name in most[:20]),
        ),
        facts=("measurements", "tag_keys", "field_types"),
    )


def _plain_names(case: Case, database: str) -> dict[str, str]:
    """A plain name for each measurement that needs one and is not to become one with others."""
    reserved, families = keywords(case.profile.engine), in_families(case, database)
    inside = [m.name for m in case.measurements if m.database == database]
    names = (name for name in inside if _reason(name, reserved))
    found = distinct(names, lambda name: _plain(name, reserved), inside)
    return {old: new for old, new in found.items() if old not in families}


def _renames(case: Case, measurement: Measurement, bad: dict[str, str], new_name: str | None) -> tuple[Rename, ...]:
    """A plain name for each of them, which nothing else has or gets. `new_name`: None if the measurement keeps its."""
    reserved, at = keywords(case.profile.engine), subject_of(measurement)
    names = (name for name in measurement.columns if name in bad)
    columns = distinct(names, lambda name: _plain(name, reserved), measurement.columns)
    both = {tag.key for tag in measurement.tags} & {field.key for field in measurement.fields}
    changes = [Rename(at, old, new) for old, new in columns.items() if old not in both]
    if measurement.name in bad and new_name is not None:
        changes.append(Rename(at, "", new_name))
    return tuple(changes)
