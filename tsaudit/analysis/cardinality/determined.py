"""Tags that add no series because another tag determines them: each of its values occurs with only one of theirs."""

from __future__ import annotations

from tsaudit.model.profile import Measurement


def determined_tags(measurement: Measurement) -> dict[str, tuple[str, ...]]:
    """Tags to those that they determine, without those that have a single value; empty if the tag sets are not known.

    A tag that several determine is named with the closest one, which has the fewest values. Of tags that determine each
    other, the first by name stands for the others.
    """
    sets = measurement.tag_sets
    values = {tag.key: tag.values.value if tag.values else 0 for tag in measurement.tags}
    by: dict[str, list[str]] = {}
    for dependency in sets.dependencies if sets else ():
        if values.get(dependency.dependent, 0) > 1:
            by.setdefault(dependency.dependent, []).append(dependency.determinant)

    def leader(tag: str) -> str:
        return min([tag, *(other for other in by.get(tag, ()) if tag in by.get(other, ()))])

    found: dict[str, list[str]] = {}
    for tag, others in by.items():
        first = leader(tag)
        closest = sorted(others, key=lambda other: (values.get(other, 0), other))
        # The first of them has no one but the others, or a tag that they all follow from.
        one = first if first != tag else next((leader(other) for other in closest if leader(other) != tag), None)
        if one is not None:
            found.setdefault(one, []).append(tag)
    return {tag: tuple(sorted(found[tag])) for tag in sorted(found)}
