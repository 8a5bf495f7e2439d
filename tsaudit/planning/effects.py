"""The combined effect of a plan's changes, according to the figures of the profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Change
from tsaudit.model.finding import Finding
from tsaudit.model.plan import Effect, Loss
from tsaudit.model.profile import How, Measurement, TagSets

_TOO_MANY: Final = 0.5
"""Share of the series: if more than that are left, the plan names the tag to change next."""


def effect_of(engine: str, measurement: Measurement, changes: Iterable[Change]) -> Effect:
    """The number of series left, and of rows that would overwrite each other, without the tags that the changes drop or
    turn into fields.
    """
    gone = tags_ended(measurement, changes)
    if not gone:
        return Effect()
    now, tag_sets = measurement.series.value if measurement.series else None, measurement.tag_sets
    after, exact = _series_left(tag_sets, gone)
    scope = tag_sets.source.scope if tag_sets and tag_sets.source.how is How.SAMPLED else ""
    if tag_sets is not None and scope:
        # A part of the rows has fewer series than all rows, both before and after the changes.
        now = tag_sets.series
    loss, unknown = (None, "") if ENGINES[engine].keeps_documents else _loss(measurement, gone)
    return Effect(now, after, exact, scope, loss=loss, loss_unknown=unknown)


def tags_ended(measurement: Measurement, changes: Iterable[Change]) -> frozenset[str]:
    """Tags that the changes drop or turn into fields."""
    claims = {claim: to for change in changes for claim, to in change.claims().items()}
    ended = {name for (aspect, name), to in claims.items() if aspect == "role" and to in ("field", "none")}
    return frozenset(ended & {tag.key for tag in measurement.tags})


def with_next(effect: Effect, measurement: Measurement, gone: Collection[str], findings: Iterable[Finding]) -> Effect:
    """The effect, completed with what else to change if too many series are left: more than half, or more than the
    series limit of a finding.
    """
    now, after = effect.series_now, effect.series_after
    if now is None or after is None or measurement.tag_sets is None:
        return effect
    limits = list(_limits(findings, now))
    effect = replace(effect, limit=min((limit for limit, _ in limits), default=None))
    most = min([_TOO_MANY * now, *(room for _, room in limits)])
    if after <= most:
        return effect
    next_tag, together = "", list(dict.fromkeys(sorted(gone)))
    for one in measurement.tag_sets.drop_curve:
        further = [tag for tag in (one.tag, *one.together_with) if tag not in together]
        together += further
        next_tag = next_tag or next(iter(further), "")
        if one.series_left <= most and len(together) < len(measurement.tags):
            return replace(effect, next_tag=next_tag, enough=tuple(together))
    return replace(effect, next_tag=next_tag)


def _limits(findings: Iterable[Finding], now: int) -> Iterator[tuple[float, float]]:
    """The series limits of the findings, each with the number of series that this measurement may have to stay below
    it.
    """
    for finding in findings:
        if finding.limit is not None and finding.unit == "series" and finding.observed is not None:
            others = max(0.0, finding.observed - now)
            yield finding.limit.value, finding.limit.value - others


def together(effects: Collection[Effect]) -> Effect:
    """The effect of the same changes on several measurements. The tag to change next is that of the first one."""
    first, *others = effects
    if not others:
        return first
    now = [one.series_now for one in effects if one.series_now is not None]
    after = [one.series_after for one in effects if one.series_after is not None]
    losses = [one.loss for one in effects if one.loss is not None]
    return replace(
        first,
        series_now=sum(now) if len(now) == len(effects) else None,
        series_after=sum(after) if len(after) == len(effects) else None,
        is_exact=all(one.is_exact for one in effects),
        loss=_sum(losses) if losses else None,
        loss_unknown=next((one.loss_unknown for one in effects if one.loss_unknown), ""),
    )


def _sum(losses: Collection[Loss]) -> Loss:
    return Loss(
        sum(one.rows for one in losses),
        sum(one.compared for one in losses),
        next((one.scope for one in losses if one.scope), ""),
        all(one.is_exact for one in losses),
    )


def _series_left(tag_sets: TagSets | None, gone: Collection[str]) -> tuple[int | None, bool]:
    """The number of series left without these tags, None if not known; and whether it is exact or an upper bound."""
    if tag_sets is None:
        return None, False
    is_whole = _is_whole(tag_sets)
    if is_whole and tag_sets.minimal_key and not set(tag_sets.minimal_key) & set(gone):
        return tag_sets.series, True
    known = {frozenset((one.tag, *one.together_with)): one.series_left for one in tag_sets.contributions}
    so_far: frozenset[str] = frozenset()
    for one in tag_sets.drop_curve:
        so_far |= {one.tag, *one.together_with}
        known[so_far] = one.series_left
    fitting = {tags: left for tags, left in known.items() if tags <= set(gone)}
    # Dropping further tags can only reduce the number.
    left = min(fitting.values(), default=tag_sets.series)
    return left, frozenset(gone) in fitting and is_whole


def _is_whole(tag_sets: TagSets) -> bool:
    """Whether every series was examined, and none is counted that no longer exists."""
    return tag_sets.sampled is None and tag_sets.source.how is How.EXACT


def _loss(measurement: Measurement, gone: Collection[str]) -> tuple[Loss | None, str]:
    """The rows that would overwrite others; or the reason why no rows were compared."""
    tag_sets, apart = measurement.tag_sets, measurement.rows_apart
    if (
        tag_sets is not None
        and _is_whole(tag_sets)
        and tag_sets.minimal_key
        and not set(tag_sets.minimal_key) & {*gone}
    ):
        # No two series become the same: neither those in the index, nor those of the rows read.
        read = measurement.rows.value if measurement.rows else 0
        scope = tag_sets.source.scope
        return (Loss(0, read, _beyond(measurement, read, scope)) if scope else None), ""
    if apart is None or not apart.rows:
        return None, "no rows with times were read" if apart is None else "there are no rows within the window"
    rows, exact = apart.lost(gone)
    return Loss(rows, apart.rows, _beyond(measurement, apart.rows, apart.source.scope), exact), ""


def _beyond(measurement: Measurement, read: int, scope: str) -> str:
    """Which rows were read, in words; empty if there are no others, not even older ones."""
    total = measurement.rows_total
    return "" if total is not None and total.source.how is How.EXACT and total.value <= read else scope
