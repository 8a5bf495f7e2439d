"""What the changes of a plan achieve, by the figures of a profile: only what was looked at as a whole is exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import a_count, a_field, a_finding, a_measurement, a_source, a_tag
from tsaudit.model.change import MakeField
from tsaudit.model.columns import Contribution, TagSets
from tsaudit.model.figures import How, Subject
from tsaudit.model.finding import Finding, Limit
from tsaudit.model.plan import Effect, Loss, Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import RowsApart, SetApart
from tsaudit.planning import describe
from tsaudit.planning.plans import effect_of, tags_ended, together, with_next
from tsaudit.rules.series_estimate import identity_kept

AT = Subject("main", "cpu")
PART = "at least; by 1,000 of 90,000 rows"
NEWEST = "the newest rows"


def measurement(how: How = How.EXACT, scope: str = "", sampled: int | None = None, **changes: Any) -> Measurement:
    """`host` alone tells its 30 series apart; `rack` follows from it."""
    left = (Contribution("rack", (), 30), Contribution("host", (), 3))
    sets = TagSets(30, 90, 30, (), ("host",), left, left, a_source(how, scope=scope), sampled=sampled)
    tags = (a_tag("host", 30), a_tag("rack", 3))
    return a_measurement("cpu", 30, tags=tags, fields=(a_field("usage"),), tag_sets=sets, **changes)


def compared(rows: int = 0, complete: bool = True, scope: str = NEWEST) -> RowsApart:
    """5,000 rows read, so many of which would be like another one without `host`."""
    apart = (SetApart(("host",), rows),) if rows else ()
    return RowsApart(5_000, apart, complete, a_source(How.EXACT, scope=scope))


def without(tag: str, found: Measurement, engine: str = "influxdb1") -> Effect:
    return effect_of(engine, found, [MakeField(AT, tag)])


def test_a_loss_is_named_before_the_sentence_that_introduces_the_setting() -> None:
    step = Step(StepKind.WRITER, "Write id as a field. If Telegraf writes it:", "[processors]", loses="7 rows")
    assert describe.introduced(step) == ("Write id as a field.", "If Telegraf writes it:")
    assert describe.introduced(replace(step, loses="")) == (step.words, "")


def test_nothing_is_lost_where_no_two_series_become_one() -> None:
    effect = without("rack", measurement())
    assert (effect.series_now, effect.series_after, effect.is_exact, effect.loss) == (30, 30, True, None)
    assert describe.effect(effect) == "Series: 30 now, 30 afterward."


def test_series_of_a_period_say_nothing_about_older_rows() -> None:
    effect = without("rack", measurement(scope="rows of May", rows=a_count(700)))
    assert effect.loss == Loss(0, 700, "rows of May")
    whole = without("rack", measurement(scope="rows of May", rows=a_count(700), rows_total=a_count(700)))
    assert whole.loss is not None
    assert whole.loss.is_none


@pytest.mark.parametrize(
    ("how", "scope", "sampled"), [(How.SAMPLED, PART, None), (How.ESTIMATE, "at most: x", None), (How.EXACT, "", 10)]
)
def test_part_of_the_series_proves_nothing(how: How, scope: str, sampled: int | None) -> None:
    """What tells the series of a part apart may not tell those apart that nobody looked at."""
    effect = without("rack", measurement(how, scope, sampled))
    assert not effect.is_exact
    assert effect.loss_unknown == "no rows with times were read"


def test_series_of_a_part_are_compared_with_those_of_the_part() -> None:
    effect = without("rack", measurement(How.SAMPLED, PART))
    assert describe.effect(effect).startswith(f"Series: 30 now, 30 afterward ({PART}).")


def test_rows_that_do_not_overwrite_each_other_only_need_their_source() -> None:
    """A table without a unique key keeps both rows."""
    found = measurement(rows_apart=compared(4_900))
    lost = "4,900 of the 5,000 rows that were compared"
    assert identity_kept(found, "host", keeps_rows=False).endswith(
        f"{lost} would overwrite another one, so it is what identifies the sources."
    )
    assert identity_kept(found, "host", keeps_rows=True) == (
        f"host is what identifies the sources: without it, {lost} have the time and the other tags of another one. "
        "If they last, raise the limit. If each soon ends, write names that are used again, such as that of a service, "
        "or let rows expire sooner."
    )


def test_rows_that_lack_the_tag_show_no_loss() -> None:
    apart = replace(compared(), absent=("host",))
    effect = without("host", measurement(rows_apart=apart))
    assert (effect.loss, effect.loss_unknown) == (None, "none of the rows read has host")


SOME = "the rows read are only some of those that share a time"


@pytest.mark.parametrize(
    ("apart", "total", "said"),
    [
        (compared(), 5_000, "No rows would overwrite each other."),
        (compared(), 9_000, f"None of the 5,000 rows compared ({NEWEST}) would overwrite another."),
        (compared(), None, f"None of the 5,000 rows compared ({NEWEST}) would overwrite another."),
        (compared(7), 5_000, "7 of the 5,000 rows compared would overwrite another."),
        (compared(7), None, f"7 of the 5,000 rows compared ({NEWEST}) would overwrite another."),
        (compared(complete=False), 5_000, "None of the 5,000 rows compared is known to overwrite another."),
        (
            replace(compared(), whole=False),
            None,
            f"Rows that would overwrite each other were not counted: {SOME}.",
        ),
        (
            replace(compared(), within="host"),
            None,
            f"Rows that would overwrite each other were not counted: {SOME}.",
        ),
        (None, None, "Rows that would overwrite each other were not counted: no rows with times were read."),
        (
            replace(compared(), rows=0),
            None,
            "Rows that would overwrite each other were not counted: there are no rows within the window.",
        ),
    ],
)
def test_what_is_said_of_rows_that_were_compared(apart: RowsApart | None, total: int | None, said: str) -> None:
    """`host` tells the series apart: without it rows may become one."""
    found = measurement(rows_apart=apart, rows_total=None if total is None else a_count(total))
    effect = without("host", found)
    assert describe.effect(effect).endswith(said)


def test_documents_have_no_key_that_others_could_share() -> None:
    effect = without("host", measurement(), "mongodb")
    assert (effect.loss, effect.loss_unknown) == (None, "")


def test_changes_that_touch_no_tag_do_nothing() -> None:
    assert without("usage", measurement()) == Effect()
    assert describe.effect(Effect()) == ""


# --- What comes next --------------------------------------------------------------------------------------------------


def _driven() -> Measurement:
    """60,000 series of `path` (2,500), `id` (24), and `host` (1 left without all others)."""
    curve = (Contribution("path", ("area",), 24), Contribution("id", (), 2), Contribution("host", (), 1))
    each = (*curve[:1], Contribution("id", (), 59_000), Contribution("host", (), 60_000))
    sets = TagSets(60_000, 90_000, 60_000, (), ("path", "id"), each, curve, a_source())
    tags = tuple(a_tag(key) for key in ("area", "host", "id", "path"))
    return a_measurement("cpu", 60_000, tags=tags, tag_sets=sets)


def _next(tag: str, *findings: Finding) -> Effect:
    found = _driven()
    changes = [MakeField(AT, tag)]
    return with_next(effect_of("influxdb1", found, changes), found, tags_ended(found, changes), findings)


def _limited(limit: float, observed: float) -> Finding:
    return a_finding(
        AT, observed=observed, unit="series", limit=Limit("high-series-cardinality.max_series", limit, "series", "", "")
    )


def test_next_tag_is_named_if_most_series_are_left() -> None:
    effect = _next("id")
    assert (effect.series_after, effect.next_tag, effect.enough) == (59_000, "path", ("id", "path", "area"))
    assert "That is still too many: change path next; id, path and area together suffice." in describe.effect(effect)


def test_nothing_is_next_if_few_series_are_left() -> None:
    found, changes = _driven(), [MakeField(AT, "path"), MakeField(AT, "area")]
    effect = effect_of("influxdb1", found, changes)
    assert with_next(effect, found, tags_ended(found, changes), []).next_tag == ""


def test_limit_decides_whether_the_rest_is_too_much() -> None:
    found, changes = _driven(), [MakeField(AT, "path"), MakeField(AT, "area")]
    effect = with_next(
        effect_of("influxdb1", found, changes), found, tags_ended(found, changes), [_limited(10, observed=60_000)]
    )
    assert (effect.series_after, effect.limit, effect.next_tag, effect.enough) == (24, 10, "id", ("area", "path", "id"))
    assert "That is still too many (the limit is 10): change id next" in describe.effect(effect)


def test_other_measurements_take_their_share_of_a_limit() -> None:
    """The database has 30,000 series more, so the limit leaves this measurement none."""
    effect = _next("path", _limited(20_000, observed=90_000))
    assert effect.next_tag == "area"
    assert effect.enough == ()


def test_same_changes_in_several_measurements_have_one_effect() -> None:
    one = Effect(30, 3, True, loss=Loss(7, 100))
    assert together([one]) == one
    both = together([one, Effect(50, 5, False, loss=Loss(1, 200, NEWEST, False))])
    assert both == Effect(80, 8, False, loss=Loss(8, 300, NEWEST, False))
    assert together([one, Effect(None, None)]).series_now is None
    assert together([one, Effect(9, 9, loss_unknown="no rows")]).loss_unknown == "no rows"
