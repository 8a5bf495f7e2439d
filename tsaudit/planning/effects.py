"""What the changes of a plan would do together, by the figures of the profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tsaudit.model.change import Change
from tsaudit.model.plan import Effect
from tsaudit.model.profile import How, Measurement, TagSets
from tsaudit.text import number


def effect_of(measurement: Measurement, changes: Iterable[Change]) -> Effect:
    """Series that are left, and rows that would collide, without the tags that the changes make fields or leave out."""
    gone = {name for change in changes for (aspect, name), to in change.claims().items() if _ends_tag(aspect, to)}
    gone &= {tag.key for tag in measurement.tags}
    if not gone:
        return Effect()
    now = measurement.series.value if measurement.series else None
    after, exact = _series_left(measurement.tag_sets, gone)
    collisions, how = _collisions(measurement, gone)
    return Effect(now, after, exact, collisions, how)


def _ends_tag(aspect: str, to: str) -> bool:
    return aspect == "role" and to in ("field", "none")


def _series_left(tag_sets: TagSets | None, gone: Collection[str]) -> tuple[int | None, bool]:
    """Series that are left without these tags, and whether so many or at most so many; None where it is not known."""
    if tag_sets is None:
        return None, False
    if not set(tag_sets.minimal_key) & set(gone) and tag_sets.minimal_key and tag_sets.sampled is None:
        return tag_sets.series, True
    known = {frozenset((one.tag, *one.together_with)): one.series_left for one in tag_sets.contributions}
    so_far: frozenset[str] = frozenset()
    for one in tag_sets.drop_curve:
        so_far |= {one.tag, *one.together_with}
        known[so_far] = one.series_left
    fitting = {tags: left for tags, left in known.items() if tags <= set(gone)}
    # What other tags leave out besides can only leave fewer.
    left = min(fitting.values(), default=tag_sets.series)
    return left, frozenset(gone) in fitting and tag_sets.sampled is None


def _collisions(measurement: Measurement, gone: Collection[str]) -> tuple[int | None, str]:
    """Rows that would collide, and among which, or why that is not known."""
    tag_sets, apart = measurement.tag_sets, measurement.rows_apart
    whole = tag_sets is not None and tag_sets.sampled is None and tag_sets.source.how is How.EXACT
    if tag_sets is not None and whole and tag_sets.minimal_key and not set(tag_sets.minimal_key) & set(gone):
        return 0, "no two series become one"
    if apart is None:
        return None, "no rows were read, or those of a few series only"
    found = apart.without(gone)
    which = f"{apart.source.how}: {apart.source.scope}" if apart.source.scope else f"{number(apart.rows)} rows read"
    if found or (apart.complete and apart.rows):
        return found, which
    return None, "too many rows share an instant to compare them all" if apart.rows else "no rows within the window"
