"""What the changes of a plan would do together, by the figures of the profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tsaudit.model.change import Change
from tsaudit.model.plan import Effect
from tsaudit.model.profile import How, Measurement, TagSets
from tsaudit.text import many


def effect_of(measurement: Measurement, changes: Iterable[Change]) -> Effect:
    """Series left, and rows that would collide, without the tags that the changes drop or turn into fields."""
    gone = {name for change in changes for (aspect, name), to in change.claims().items() if _ends_tag(aspect, to)}
    gone &= {tag.key for tag in measurement.tags}
    if not gone:
        return Effect()
    now, tag_sets = measurement.series.value if measurement.series else None, measurement.tag_sets
    after, exact = _series_left(tag_sets, gone)
    part = tag_sets.source.scope if tag_sets and tag_sets.source.how is How.SAMPLED else ""
    if tag_sets is not None and part:
        # A part has fewer series than all rows, before as well as afterwards.
        now = tag_sets.series
    return Effect(now, after, exact, *_collisions(measurement, gone), series_how=part)


def _ends_tag(aspect: str, to: str) -> bool:
    return aspect == "role" and to in ("field", "none")


def _series_left(tag_sets: TagSets | None, gone: Collection[str]) -> tuple[int | None, bool]:
    """Series left without these tags, and whether the number is exact or an upper bound; None if not known."""
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
    # Other tags that are dropped, too, can only reduce the number.
    left = min(fitting.values(), default=tag_sets.series)
    return left, frozenset(gone) in fitting and is_whole


def _is_whole(tag_sets: TagSets) -> bool:
    """Whether every series was examined, and no nonexistent one is included."""
    return tag_sets.sampled is None and tag_sets.source.how is How.EXACT


def _collisions(measurement: Measurement, gone: Collection[str]) -> tuple[int | None, str, bool]:
    """Rows that would collide; among which, or why that is not known; and whether those are all there are."""
    tag_sets, apart = measurement.tag_sets, measurement.rows_apart
    if (
        tag_sets is not None
        and _is_whole(tag_sets)
        and tag_sets.minimal_key
        and not set(tag_sets.minimal_key) & set(gone)
    ):
        scope = f" in {tag_sets.source.scope}" if tag_sets.source.scope else ""
        return 0, f"no two series become one{scope}", True
    if apart is None:
        return None, "no rows were read, or those of a few series only", False
    found = apart.without(gone)
    which = f"{apart.source.how}: {apart.source.scope}" if apart.source.scope else f"{many(apart.rows, 'row')} read"
    if found or (apart.complete and apart.rows):
        return found, which, apart.source.how is How.EXACT
    why = "too many rows share an instant to compare them all" if apart.rows else "no rows within the window"
    return None, why, False
