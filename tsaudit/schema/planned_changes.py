"""Schema changes that somebody made because an earlier audit asked for them.

A difference is planned if a finding asked for exactly that change of the measurement, or if a statement or setting in a
plan causes it. Any other difference of the same column, such as a type that was not asked for, is not planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tsaudit.analysis.columns.types import is_integer
from tsaudit.engines.engine import NAME_IN_FORM, Statements
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Change, Claim, MergeMeasurements
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Measurement, Profile, Role
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Timeline
from tsaudit.schema.diff import Difference, DifferenceKind, LiveColumn

_KINDS: Final[dict[str, Callable[[str], object]]] = {
    "integer": lambda name: is_integer(name) or name.lower() in ("integer", "long", "unsigned"),
    "float": re.compile(r"(?i)float|double|real|numeric|decimal|number").search,
    "decimal": re.compile(r"(?i)numeric|decimal|number").search,
    # SQLite stores booleans as integers.
    "boolean": re.compile(r"(?i)bool|^integer$").search,
    "date": re.compile(r"(?i)^date").search,
    "time": re.compile(r"(?i)timestamp|date|time").search,
}
"""Functions that check whether an engine's type fits the type that a change asks for."""

_READ: Final = (StepKind.FIND, StepKind.VERIFY)
_NAME: Final = ("name", "")
"""The claim of a change of the measurement's name."""
_EASED: Final = 0.5
"""Maximum share of the series that may be left for a finding to count as resolved."""
_UNWANTED: Final = frozenset({("role", "field"), ("role", "none")})
"""Claims of changes after which a column is no longer a tag."""


def asked_by(difference: Difference, timeline: Timeline, after: Profile) -> tuple[str, ...]:
    """The codes of the rules that asked for the difference; empty if none did."""
    at, codes = difference.subject, dict[str, None]()
    for one in timeline.wanted:
        where = one.change.at
        if where.database == at.database and (not at.column or where.measurement in ("", at.measurement)):
            codes |= dict.fromkeys(one.rules if _decides(one.change, difference, after) else ())
    known = _statements(after.engine)
    for plan in timeline.plans:
        about = {subject for subject in plan.subjects if subject.database == at.database}
        if about and (not at.column or Subject(at.database, at.measurement) in about):
            texts = [step.text for step in plan.steps if step.kind not in _READ]
            is_made = any(_states(text, difference, known) for text in texts) or _replaces(texts, difference, about)
            codes |= dict.fromkeys(plan.rules if is_made else ())
    return tuple(codes)


def eased(difference: Difference, timeline: Timeline, before: Profile, after: Profile) -> tuple[str, ...]:
    """The codes of the rules whose finding about a tag was resolved in another way than they asked for; empty if there
    are none.

    The unwanted tag is no longer a tag, and the measurement has at most half of its series. That is
    good news about the old tag, and also about a new tag that replaces it.
    """
    at = difference.subject
    was, now = (_measurement(profile, at.database, at.measurement) for profile in (before, after))
    if was is None or now is None or was.series is None or now.series is None:
        return ()
    if not at.column or now.series.value > _EASED * was.series.value:
        return ()
    ended = {tag.key for tag in was.tags} - {tag.key for tag in now.tags}
    is_new_tag = difference.kind is DifferenceKind.NEW and now.tag(at.column) is not None
    codes: dict[str, None] = {}
    for one in timeline.wanted:
        own = _unwanted(one.change) if one.change.at == Subject(at.database, at.measurement) else set[str]()
        if own & ended & (ended if is_new_tag else {at.column}):
            codes |= dict.fromkeys(one.rules)
    return tuple(codes)


def _unwanted(change: Change) -> set[str]:
    """Tags that the change removes as tags, or splits."""
    return {name for (aspect, name), to in change.claims().items() if aspect == "parts" or (aspect, to) in _UNWANTED}


# --- By what is decided ----------------------------------------------------------------------------------------------


def _decides(change: Change, difference: Difference, after: Profile) -> bool:
    if not difference.subject.column:
        return _makes_measurement(change, difference) or _ends_measurement(change, difference, after)
    claims, column = change.claims(), difference.subject.column
    if difference.kind is DifferenceKind.NEW:
        return any(aspect == "new column" and _is_called(column, name) for aspect, name in claims)
    if difference.kind is DifferenceKind.GONE:
        return _ends_column(claims, difference, after)
    assert isinstance(difference.before, LiveColumn)
    assert isinstance(difference.after, LiveColumn)
    if Role.TIME in (difference.before.role, difference.after.role):
        return _moves_time(claims, column, difference.before, difference.after)
    return _becomes(claims, column, difference.before, difference.after)


def _becomes(claims: Mapping[Claim, str], column: str, was: LiveColumn, now: LiveColumn) -> bool:
    """Whether role and type, as far as they changed, are what was asked for."""
    kind, role = claims.get(("type", column)), claims.get(("role", column))
    # A numeric column identifies no source.
    role_fits = was.role is now.role or role == now.role or (kind is not None and now.role is Role.FIELD)
    fits = _KINDS.get(kind or "", lambda _: False)
    # The column takes over the values of another column, and so also their type.
    type_fits = was.types == now.types or ("values", column) in claims
    type_fits = type_fits or (bool(now.types) and all(map(fits, now.types)))
    return role_fits and type_fits


def _moves_time(claims: Mapping[Claim, str], column: str, was: LiveColumn, now: LiveColumn) -> bool:
    """Whether the change asked for another time column, and this column became it, or was it before."""
    time = claims.get(("time", ""))
    return time == column if now.role is Role.TIME else time is not None and was.role is Role.TIME and time != column


def _ends_column(claims: Mapping[Claim, str], difference: Difference, after: Profile) -> bool:
    """Whether the column was to be removed, and what was to replace it exists."""
    at, column = difference.subject, difference.subject.column
    here = _measurement(after, at.database, at.measurement)
    columns = here.columns if here else ()
    role, label_of = claims.get(("role", column)), getattr(difference.before, "label_of", "")
    # A label that should not be a tag is no longer read from its column.
    if role == "none" or (role == "field" and label_of and label_of in columns):
        return True
    if (new := claims.get(("name", column))) is not None:
        return any(_is_called(one, new) for one in columns)
    if (parts := claims.get(("parts", column))) is not None:
        return all(any(_is_called(one, part) for one in columns) for part in parts.split("\x1f"))
    if (home := claims.get(("measurement", column))) is not None:
        there = (m for m in after.measurements if m.database == at.database and _is_called(m.name, home))
        return any(column in m.columns for m in there)
    return False


def _makes_measurement(change: Change, difference: Difference) -> bool:
    names = {to for (aspect, name), to in change.claims().items() if aspect == "measurement" or (aspect, name) == _NAME}
    names |= {change.into} if isinstance(change, MergeMeasurements) else set()
    return difference.kind is DifferenceKind.NEW and any(
        _is_called(difference.subject.measurement, name) for name in names
    )


def _ends_measurement(change: Change, difference: Difference, after: Profile) -> bool:
    name = difference.subject.measurement
    if difference.kind is not DifferenceKind.GONE or not name:
        return False
    into = change.claims().get(("name", "")) if change.at.measurement == name else None
    if isinstance(change, MergeMeasurements) and any(one.measurement == name for one in change.members):
        into = change.into
    beside = (m.name for m in after.measurements if m.database == difference.subject.database)
    return into is not None and any(_is_called(one, into) for one in beside)


def _is_called(name: str, wanted: str) -> bool:
    """Whether the measurement or column has the name, possibly followed by a number, as plans name it if the name is
    taken.
    """
    return name == wanted or re.fullmatch(re.escape(wanted) + r"_\d+", name) is not None


def _measurement(profile: Profile, database: str, name: str) -> Measurement | None:
    return next((m for m in profile.measurements if (m.database, m.name) == (database, name)), None)


# --- By what is stated -----------------------------------------------------------------------------------------------


def _replaces(texts: Iterable[str], difference: Difference, about: Iterable[Subject]) -> bool:
    """Whether the difference is a new measurement whose name is that of one of the plan's measurements with a suffix
    that a setting of the plan adds.
    """
    if difference.kind is not DifferenceKind.NEW or difference.subject.column:
        return False
    name = difference.subject.measurement
    ends = {name.removeprefix(at.measurement) for at in about if name.startswith(at.measurement)} - {""}
    return any(f'"{end}"' in text for text in texts for end in ends)


def _states(text: str, difference: Difference, known: Statements) -> bool:
    """Whether a statement drops what is gone, or creates what is new, such as the table that rows are copied to."""
    if difference.kind not in (DifferenceKind.GONE, DifferenceKind.NEW):
        return False
    is_new = difference.kind is DifferenceKind.NEW
    name = re.escape((difference.subject.column or difference.subject.measurement).replace('"', '""'))
    forms = [form.replace("<what>", "COLUMN" if difference.subject.column else "TABLE") for form in _FORMS[is_new]]
    if not difference.subject.column:
        forms += known.make if is_new else known.remove
    return any(re.search(f"(?i){form.replace(NAME_IN_FORM, name)}", text) for form in forms)


_IN_SQL: Final = r"(?:\S+\.)?(?:\"<name>\"|`<name>`|<name>(?![\w.\"`-]))"
_FORMS: Final = {
    False: (rf"\bDROP <what> (IF EXISTS )?{_IN_SQL}",),
    True: (rf"\b((ADD|CREATE) <what>|RENAME <what> [^;\n]+ TO|RENAME TO) (IF NOT EXISTS )?{_IN_SQL}",),
}
"""Forms of SQL statements: those that remove something, and those that create it."""


def _statements(engine: str) -> Statements:
    return ENGINES[engine].statements if engine in ENGINES else Statements()
