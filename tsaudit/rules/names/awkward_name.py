"""NAM001."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib import resources
from typing import Final

from tsaudit.engines.quoting import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import matters
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Database
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.merged_families import grids_of
from tsaudit.text import listed, many, number

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTES: Final = frozenset("\"'`\\")


@rule(
    code="NAM001",
    title="Names that need quotes, or are too long",
    guidelines=("B1", "B5"),
    follows_from={"NAM005": Reach.MEASUREMENT},
    requires={"measurements", "tag_keys", "field_types"},
    uses={"options"},
    by_name=True,
    thresholds=(Threshold("max_length", 64, "characters", "our default: still fits a legend or a column heading"),),
)
def awkward_name(case: Case) -> Iterator[Finding]:
    """Names that need quotes in queries, or have more than `max_length` characters.

    Quotes are needed for reserved words, and for characters other than ASCII letters, digits, and underscores. Words
    that the engine accepts as names, such as `time` and `value`, are not reported. All such names of a database are one
    finding, and a measurement in several of its retention policies counts once. Names of measurements that
    data-in-measurement-name reports are left out, and so are tables whose columns GreptimeDB creates from protocol
    names, for traces and metrics.

    Many collectors have such names by design, such as Telegraf's `name` and `user` and OpenTelemetry's `service.name`.
    They cost nothing but quotes and patience, so the finding is always a note.

    ## Why it matters

    A query without the quotes fails, or worse, means something else: `select order from t` is an error, `"order"` is a
    column, and `'order'` is a text literal. Tools and templates that build queries often forget the quotes. Long names
    usually contain something that belongs in a tag, so queries need regular expressions where an equals sign would do.

    ## Example

    A tag `tag@1-23` and a field `example-field`: `example-field` without quotes is `example` minus `field`. The field
    `temperature_in_degrees_celsius_measured_by_the_backup_sensor_of_the_second_floor`.

    ## Fix

    Use only letters, digits, and underscores, and add a word to a reserved word: `order_id`, `group_name`. Name the
    measured thing, and move where, by whom, and how into tags.

    ## References

    - Keywords, special characters, and simple names:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-keywords-and-special-characters
    - PostgreSQL keywords: https://www.postgresql.org/docs/current/sql-keywords-appendix.html
    - GreptimeDB's identifiers and keywords: https://github.com/GreptimeTeam/greptimedb/blob/main/src/sql/src/dialect.rs
    """
    known: set[tuple[str, str]] = set()
    for database in case.profile.databases:
        found, name = _in_measurements(case, database.name), database.server_name
        new = {at: bad for at, bad in found.items() if (name, at.measurement) not in known}
        known |= {(name, at.measurement) for at in new}
        if places := {**_of_database(case, database), **new}:
            yield _finding(case, places)


_Places = dict[Subject, dict[str, str]]
"""A database or measurement to each of its awkward names with the reason."""


def _of_database(case: Case, database: Database) -> _Places:
    # In SQL, the name of a file's only schema was not chosen by the user, and no query needs it. A retention policy is
    # named after its duration (`1y`); few queries use that name, and there is no alternative.
    is_queried = case.engine.language is Language.INFLUXQL and not database.policy_of
    name = database.own_name
    reason = (_needs_quotes(case, name) if is_queried else "") or _is_long(case, name)
    return {Subject(database.name): {name: reason}} if reason else {}


def _in_measurements(case: Case, database: str) -> _Places:
    inside = {m.name: m for m in case.measurements if m.database == database}
    # Other rules ask to merge these measurements, which removes their names.
    every = case.profile.names(database)
    families = {name for family in case.name_families(every) for name in family.members}
    others = {name: m for name, m in inside.items() if name not in families}
    families |= {name for grid in grids_of(case, others) for name in grid.members}
    found: _Places = {}
    # Measurements of one collector have the same columns.
    why = functools.cache(lambda name: _needs_quotes(case, name) or _is_long(case, name))
    for measurement in inside.values():
        if case.engine.has_given_columns(measurement):
            continue
        names = [] if measurement.name in families else [measurement.name]
        names = [name for name in (*names, *measurement.columns) if not case.engine.names_itself(name)]
        if bad := {name: why(name) for name in names if why(name)}:
            found[subject_of(measurement)] = bad
    for name in set(every) - families - set(inside):
        if not case.engine.names_itself(name) and why(name):
            found[Subject(database, name)] = {name: why(name)}
    return dict(sorted(found.items(), key=lambda one: one[0].measurement))


@functools.cache
def keywords(engine: str) -> frozenset[str]:
    """Words of the engine's query languages that cannot be names without quotes, in lower case."""
    files = [resources.files("tsaudit.engines").joinpath(str(file)) for file in ENGINES[engine].keywords]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _needs_quotes(case: Case, name: str) -> str:
    """Why the name needs quotes; empty if it does not."""
    if not matters("B5", case.profile.engine):
        return ""
    if name.lower() in keywords(case.profile.engine):
        return "reserved word"
    if _PLAIN.fullmatch(name):
        return ""
    special = sorted(set(re.sub(r"[A-Za-z0-9_]", "", name)))
    return f"contains {' '.join(map(_shown, special))}" if special else "starts with a digit"


def _is_long(case: Case, name: str) -> str:
    """How long the name is; empty if it is short enough."""
    return f"{number(len(name))} characters" if len(name) > case.limit("max_length").value else ""


def _needs_escape(name: str) -> bool:
    """Whether quotes are not enough to write the name, or some of its characters are invisible."""
    return name != name.strip() or any(c in _QUOTES or not c.isprintable() for c in name)


def _shown(character: str) -> str:
    if character.isspace():
        return "blank" if character == " " else f"U+{ord(character):04X}"
    return character if character.isprintable() else f"U+{ord(character):04X}"


def _finding(case: Case, places: _Places) -> Finding:
    """One finding about all awkward names of a database, which are a habit of its writers."""
    inside: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for at, bad in places.items():
        reasons |= bad
        for name in bad:
            inside.setdefault(name, []).append(at.measurement or at.database)
    most = sorted(inside, key=lambda name: (not _needs_escape(name), -len(inside[name]), name))
    quoted = [name for name in most if _needs_quotes(case, name)]
    until = f"Quote {'it' if len(most) == 1 else 'them'} in every query: {case.quoted(quoted[:3])}. " if quoted else ""
    return Finding(
        subject=next(iter(places)),
        message=f"{many(len(most), 'awkward name')}: {listed([f'{name} ({reasons[name]})' for name in most], 5)}.",
        fix=f"{until}For what you write next, take short names of letters, digits, and underscores that say what is "
        f"measured, and put what varies into {case.engine.words.tag}s.",
        observed=len(most),
        unit="names",
        main_contributor=most[0],
        evidence=(
            Evidence("names", number(len(most))),
            *(Evidence(name, f"{reasons[name]}; in {listed(inside[name], 4)}") for name in most[:20]),
        ),
        facts=("measurements", "tag_keys", "field_types"),
    )
