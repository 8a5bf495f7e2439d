"""How InfluxDB 1.x makes one measurement of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsaudit.engines.influx import merging
from tsaudit.engines.influxdb1.copying import A_DAY, last_day, removed, within
from tsaudit.engines.rendering import Place
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.plan import Phase, Step


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One set of settings for the writers of all families; then each family by itself."""
    found = merging.merges(place, changes)
    yield from merging.write(place, found)
    day = within(last_day(place))
    tagged = [one for one in found if any(member.tags for member in one.change.members)]
    if tagged:
        yield merging.by_program(tagged, "InfluxQL", "cannot give points a tag")
    for one in found:
        for name in one.names[: merging.MOST] if one not in tagged else ():
            yield Step(
                Phase.COPY,
                f"Copy the stored points of {name}, one day at a time, the newest day first.",
                f"SELECT * INTO {place.table(one.into)} FROM {place.table(name)} WHERE {day} GROUP BY *",  # noqa: S608
                "influxql",
                cost="reads and writes all stored points",
                loses=merging.joined(one),
                repeat_every=A_DAY,
            )
        yield Step(
            Phase.CHECK,
            f"Compare the count of {one.into} with the sum of the others.",
            f"SELECT count(*) FROM {place.table(one.into)}",  # noqa: S608 -- shown, never run
            "influxql",
        )
        yield Step(Phase.SWITCH, f"Have queries and dashboards read {one.into}.")
    for one in found:
        for name in one.names[: merging.MOST]:
            yield removed(place, f"once the copy in {one.into} is checked", name)
