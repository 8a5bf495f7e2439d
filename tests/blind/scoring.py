"""How one audit of a blind database did. What counts as said is written down here before the set is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tsaudit.analysis.cardinality.contributions import determined_tags
from tsaudit.model.finding import AuditResult, Finding, Severity
from tsaudit.model.profile import Profile

CODES: Final[Mapping[Cause, frozenset[str]]] = {
    cause: frozenset(codes.split())
    for cause, codes in {
        Cause.ID_TAG: "TAG002 CAR001 CAR004 DOC006",
        Cause.VALUE_TAG: "TAG002",
        Cause.TEXT_TAG: "TAG002",
        Cause.CHANGING_TAG: "TAG007 TAG002",
        Cause.DEPENDENT_TAG: "TAG002 TAG010",
        Cause.COMPOSITE: "TAG003",
        Cause.NAMES: "NAM002 LAY008 NAM006 SRV003",
        Cause.COLUMN_NAMES: "NAM005 SRV003",
        Cause.LIMIT: "CAR001 CAR004 NAM002 DOC005 RET002 RET003 SRV001 SRV002 SRV003",
        Cause.LOST: "SRV001 SRV002 STO003 STO006",
        Cause.TYPE_CONFLICT: "FLD003 NAM004 SRV001",
        Cause.NUMBER_AS_TEXT: "FLD002",
        Cause.REPEATED_BYTES: "FLD005 LAY005",
        Cause.INDEX: "STO001 STO007 DOC002 SRV003",
        Cause.NO_INDEX: "STO002 STO007",
        Cause.PARTITIONS: "STO003 STO015 STO018 STO019 RET003 SRV002 SRV003",
        Cause.ROWS_LAYOUT: "LAY003 LAY004 LAY005 LAY006 LAY007 LAY010 DOC007",
        Cause.SPARSE: "LAY003 LAY004",
        Cause.RETENTION: "RET001 RET002 RET003 RET004 DOC003 DOC012 STO003",
        Cause.DEAD_ROWS: "STO017",
        Cause.ARRAY: "DOC005",
        Cause.BUCKETS: "DOC006 DOC007 DOC003",
        Cause.OPTIONS: "STO006 STO012 STO018 TAG002",
        Cause.MONEY: "LAY010 LAY011 STO015 TAG002 TAG010 RET001 RET004",
    }.items()
}
"""Which rules speak of a cause. Tags that others determine are a figure of every report, and need no rule."""


@dataclass(frozen=True, slots=True)
class Score:
    """How one audit did, in lines that name what an expert wrote or what the audit said."""

    name: str
    engine: str
    quiet: bool
    found: tuple[str, ...]
    """Expected, and said at any severity."""
    missed: tuple[str, ...]
    warned: tuple[str, ...]
    """Expected as harmful, and said at warning or above."""
    not_warned: tuple[str, ...]
    right: tuple[str, ...]
    """Warnings about something harmful."""
    false: tuple[str, ...]
    """All other warnings."""
    notes: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def score(database: BlindDatabase, profile: Profile, result: AuditResult) -> Score:
    """What was found, warned of, and missed; a warning about what the expert calls harmless is false."""
    said = [(one.code, finding) for one, finding in result.findings()]
    told = [pair for pair in said if pair[1].severity is not Severity.NOTE]
    harmful = [one for one in database.expected if one.grade is Grade.HARMFUL]
    found = [one for one in database.expected if any(_says(one, *pair) for pair in said) or _is_shown(one, profile)]
    warned = [one for one in harmful if any(_says(one, *pair) for pair in told)]
    right = [pair for pair in told if any(_says(one, *pair) for one in harmful)]
    return Score(
        name=database.name,
        engine=database.engine,
        quiet=database.quiet,
        found=tuple(map(_expectation, found)),
        missed=tuple(_expectation(one) for one in database.expected if one not in found),
        warned=tuple(map(_expectation, warned)),
        not_warned=tuple(_expectation(one) for one in harmful if one not in warned),
        right=tuple(_line(*pair) for pair in right),
        false=tuple(_line(*pair) for pair in told if pair not in right),
        notes=len(said) - len(told),
    )


def _is_shown(expected: Expected, profile: Profile) -> bool:
    if expected.cause is not Cause.DEPENDENT_TAG:
        return False
    return any(
        fnmatchcase(f"{measurement.name}.{tag}", expected.subject) or fnmatchcase(measurement.name, expected.subject)
        for measurement in profile.measurements
        for tags in determined_tags(measurement).values()
        for tag in tags
    )


def _says(expected: Expected, code: str, finding: Finding) -> bool:
    """A finding says it if its rule speaks of the cause and it is about the place, or names it."""
    if code not in CODES[expected.cause]:
        return False
    if not expected.subject:
        return True
    place, table = _name(finding), finding.subject.measurement
    if any(fnmatchcase(name, expected.subject) for name in (place, table)):
        return True
    # About the whole table or database, or about an index; then it has to name what is meant.
    of_table, _, column = expected.subject.rpartition(".")
    is_there = not of_table or not table or fnmatchcase(table, of_table)
    return (
        is_there and not (finding.subject.column and of_table) and any(_names(text, column) for text in _texts(finding))
    )


def _names(text: str, wanted: str) -> bool:
    words = text.replace('"', " ").replace("`", " ").replace(",", " ").replace("(", " ").replace(")", " ").split()
    return any(fnmatchcase(word.rstrip(".:;"), wanted) for word in words) if wanted.strip("*") else False


def _texts(finding: Finding) -> Iterator[str]:
    yield finding.message
    for evidence in finding.evidence:
        yield f"{evidence.label} {evidence.value}"


def _name(finding: Finding) -> str:
    subject = finding.subject
    return f"{subject.measurement}.{subject.column}" if subject.column else subject.measurement


def _expectation(expected: Expected) -> str:
    return f"{expected.cause.name} {expected.subject} ({expected.grade})"


def _line(code: str, finding: Finding) -> str:
    return f"{finding.severity} {code} {_name(finding)}: {finding.message}"
