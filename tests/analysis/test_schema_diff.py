"""Two snapshots compared: each difference once, and none that one of the two could not see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_field, a_measurement, a_profile, a_tag
from tsaudit.analysis.schema_diff import Difference, DifferenceKind, LiveColumn, differences, shows
from tsaudit.model.figures import Gap, How, Reason, Role, Source, Subject, TableKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.rows import Documents, KeyedFields
from tsaudit.model.storage import Index
from tsaudit.text.table_roles import CONFIGURED, IN_KEY, OUTSIDE_KEY


def found(before: Profile, after: Profile) -> list[tuple[str, str]]:
    return [(d.kind, str(d.subject)) for d in differences(before, after)]


def test_each_kind_of_difference() -> None:
    before = a_profile(
        a_measurement("cpu", tags=(a_tag("host"), a_tag("rack")), fields=(a_field("usage"), a_field("idle"))),
        a_measurement("mem"),
        a_measurement("cpu", database="old"),
    )
    after = a_profile(
        a_measurement(
            "cpu", time_column="at", tags=(a_tag("host"),), fields=(a_field("usage", ("integer",)), a_field("rack"))
        ),
        a_measurement("disk"),
    )
    assert found(before, after) == [
        ("gone", "old"),
        ("new", "main/cpu.at"),
        ("gone", "main/cpu.idle"),
        ("role", "main/cpu.rack"),
        ("gone", "main/cpu.time"),
        ("type", "main/cpu.usage"),
        ("new", "main/disk"),
        ("gone", "main/mem"),
    ]


def test_what_is_known_of_both_sides() -> None:
    before, after = (
        a_measurement(fields=(a_field("usage", ("float",)),)),
        a_measurement(fields=(a_field("usage", ("a", "b")),)),
    )
    (difference,) = differences(a_profile(before), a_profile(after))
    assert difference == Difference(
        DifferenceKind.TYPE,
        Subject("main", "cpu", "usage"),
        LiveColumn(Role.FIELD, ("float",)),
        LiveColumn(Role.FIELD, ("a", "b")),
    )


def test_role_when_rows_could_not_be_read_is_left_open_and_the_type_is_not() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "cancelled", "main", "cpu")
    before = a_profile(a_measurement(tags=(a_tag(data_type="text"),)))
    after = a_profile(a_measurement(tags=(), fields=(a_field(), a_field("host", ("integer",)))), gaps=(gap,))
    (difference,) = differences(before, after)
    assert difference.kind is DifferenceKind.TYPE
    assert isinstance(difference.after, LiveColumn)
    assert not difference.after.role_known


KEY = IN_KEY
VALUES = "a text column with short values"
CHANGED = [("role", "main/cpu.host")]
EVENTS = "the table contains events: no column names a source"


@pytest.mark.parametrize(
    ("reason", "later", "kind", "expected"),
    [
        (KEY, OUTSIDE_KEY, TableKind.SERIES, CHANGED),
        (VALUES, "long text, 80 characters on average", TableKind.SERIES, []),
        (
            "a text column without values to look at",
            "a unique key: each row has a different value",
            TableKind.SERIES,
            [],
        ),
        (CONFIGURED, "a double column", TableKind.SERIES, []),
        (KEY, CONFIGURED, TableKind.SERIES, []),
        (KEY, "a unique key: each row has a different value", TableKind.SERIES, []),
        ("a label in labels", "long text, 80 characters on average", TableKind.SERIES, []),
        ("a label in labels", "no row read has a value", TableKind.SERIES, []),
        ("a dimension of the hypertable", OUTSIDE_KEY, TableKind.SERIES, CHANGED),
        ("the engine keeps it as a tag", "the engine keeps it as a field", TableKind.SERIES, CHANGED),
        (KEY, EVENTS, TableKind.EVENTS, []),
    ],
)
def test_other_role_is_a_change_only_if_the_schema_says_both(
    reason: str, later: str, kind: TableKind, expected: list[tuple[str, str]]
) -> None:
    """What an audit of a past day, of an empty table, or with other settings takes for something else did not change,
    in whichever order the two audits come.
    """
    tag, field = a_tag("host", data_type="text", role_reason=reason), a_field("host", ("text",), role_reason=later)
    before = a_profile(a_measurement(tags=(tag,), fields=(a_field(),), kind=TableKind.SERIES))
    after = a_profile(a_measurement(tags=(), fields=(a_field(), field), kind=kind))
    assert found(before, after) == found(after, before) == expected


@pytest.mark.parametrize(
    ("reason", "kind"),
    [(EVENTS, TableKind.EVENTS), ("long text, 80 characters on average", TableKind.SERIES)],
)
@pytest.mark.parametrize("in_key", [False, True, None])
def test_other_role_is_a_change_if_the_column_left_the_key(reason: str, kind: TableKind, in_key: bool | None) -> None:
    """Without its key, a table of series may look like one of events; with it, only its rows look like others."""
    key, by_time = (
        Index(name, "btree", columns, unique=name == "key", constraint=True, partial=False)
        for name, columns in (("key", ("time", "host")), ("by_time", ("host", "time")))
    )
    tag, field = a_tag("host", data_type="text", role_reason=KEY), a_field("host", ("text",), role_reason=reason)
    before = a_profile(a_measurement(tags=(tag,), fields=(a_field(),), kind=TableKind.SERIES, indexes=(key, by_time)))
    indexes = None if in_key is None else (key, by_time) if in_key else (by_time,)
    after = a_profile(a_measurement(tags=(), fields=(a_field(), field), kind=kind, indexes=indexes))
    assert found(before, after) == found(after, before) == (CHANGED if in_key is False else [])


def test_other_time_column_of_the_same_columns_is_no_change() -> None:
    created, updated = a_field("created", ("timestamp",)), a_field("updated", ("timestamp",))
    before = a_profile(a_measurement(time_column="created", fields=(updated,)))
    after = a_profile(a_measurement(time_column="updated", fields=(created,)))
    assert found(before, after) == []


@pytest.mark.parametrize(
    "gap", [Gap("columns", Reason.DENIED, "no", "main", "cpu"), Gap("measurements", Reason.FAILED, "no")]
)
def test_shows_when_there_is_a_gap(gap: Gap) -> None:
    profile = a_profile(a_measurement("cpu"), gaps=(gap,))
    assert not shows(profile, "main", "cpu")
    assert shows(profile, "main", "mem") is (gap.measurement is not None)


NAMES = st.sampled_from(["a", "b", "c"])
MEASUREMENTS = st.builds(
    lambda name, tags, fields: a_measurement(
        name, tags=tuple(a_tag(t) for t in sorted(tags)), fields=tuple(a_field(f) for f in sorted(fields - tags))
    ),
    NAMES,
    st.sets(NAMES),
    st.sets(NAMES),
)
PROFILES = st.lists(MEASUREMENTS, unique_by=lambda m: m.name, max_size=3)


@given(PROFILES, PROFILES)
def test_differences_are_those_that_turn_one_schema_into_the_other(
    one: list[Measurement], two: list[Measurement]
) -> None:
    """Back and forth they mirror each other; none are left out, and none are made up."""
    before, after = (replace(a_profile(), measurements=tuple(m)) for m in (one, two))
    there, back = list(differences(before, after)), list(differences(after, before))
    mirrored = {DifferenceKind.NEW: DifferenceKind.GONE, DifferenceKind.GONE: DifferenceKind.NEW}
    assert [(d.kind, d.subject) for d in there] == [(mirrored.get(d.kind, d.kind), d.subject) for d in back]
    assert bool(there) is ({m.name: (m.tags, m.fields) for m in one} != {m.name: (m.tags, m.fields) for m in two})
    assert list(differences(before, before)) == []


def test_fields_beside_names_at_the_top_that_are_data() -> None:
    """Names that look like data come and go there; the other fields of the documents do not."""
    source = Source("documents", How.EXACT, NOW)

    def of(keyed: tuple[KeyedFields, ...], *keys: str) -> Profile:
        fields = tuple(a_field(key, ("int",)) for key in keys)
        documents = Documents(10, 100.0, 100, source, keyed=keyed)
        return a_profile(a_measurement("jobs", fields=fields, documents=documents), engine="mongodb")

    numbers = tuple(map(str, range(1000, 1010)))
    before = of((KeyedFields("", "{n}", numbers),), "_id", "{n}", "kept", "gone")
    after = of((), "_id", *map(str, range(1005, 1015)), "kept", "new.part")
    assert found(before, after) == [("gone", "main/jobs.gone"), ("new", "main/jobs.new.part")]
