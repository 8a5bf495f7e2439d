"""DOC003."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tsaudit.collection_families import CollectionFamily, Member, collection_families
from tsaudit.finding import Evidence, Finding, Severity, Subject
from tsaudit.phrases import many, number, size
from tsaudit.rule import Case, Threshold, rule

_COUNT_BYTES: Final = 110
"""What a document of a counts collection takes, with its index entry."""

_SCRIPT: Final = """\
const apply = false;  // as it is, it only shows what it would do
const database = db.getSiblingDB({database});
const counts = database.getCollection({counts});
const closed = name => {closed};
for (const name of database.getCollectionNames().filter(closed).sort()) {{
  const n = database.getCollection(name).countDocuments({{}});
  print(name, n);
  if (!apply) continue;
  counts.updateOne({{ _id: name }}, {{ $set: {{ n: n }} }}, {{ upsert: true, writeConcern: {{ w: "majority" }} }});
  const kept = counts.findOne({{ _id: name }});
  const again = database.getCollection(name).countDocuments({{}});
  if (kept !== null && kept.n === again) database.getCollection(name).drop();
}}"""
"""For mongosh. A collection goes only after its count can be read, and nothing was written to it meanwhile.

What is closed is told by the names that were closed on the day of the audit: a collection made later, or of another
kind, is never touched.
"""


@rule(
    code="DOC003",
    title="Closed periods are kept document by document",
    severity=Severity.WARN,
    guidelines=("H3",),
    requires={"documents", "row_estimate", "storage"},
    uses={"activity"},
    thresholds=(
        Threshold("min_closed", 3, "collections", "house judgement: a few may be waiting for their turn"),
        Threshold("grace_days", 2, "days", "house judgement: late writes, and a job that runs at night"),
        Threshold("min_freed_bytes", 1_000_000, "bytes", "house judgement: less is information"),
    ),
    fixes={
        "mongodb": (
            "If the past is only ever counted, keep the counts and drop the collections; for what closes later, a job "
            "can do so every night, which works out the last name by itself. Ask first whether anybody needs who it "
            "was: how many different ones there were in several periods together cannot be told from counts. In "
            "mongosh:\n{script}"
        ),
    },
)
def closed_period_kept(case: Case) -> Iterator[Finding]:
    """Collections of periods that are over and no longer written, of which a count would be all that is needed.

    A period is over when the time in its collection's name ended more than `grace_days` ago. Where the server counted
    writes since then, the collection is not closed.

    ## Why it matters

    What is counted again and again never changes any more. The documents and their indexes take the disk, the backups
    and the memory of the collections that are still in use.

    ## Example

    A thousand collections with an id of each user who was there, 12 GB of them, are asked for nothing but
    their `countDocuments()`. Their counts are a thousand documents of 100 bytes.

    ## Fix

    A job after midnight: count each closed period into one collection, by the old name as its `_id`, then drop it.

    ## References

    - Drop a collection, which gives its space back: https://www.mongodb.com/docs/manual/reference/method/db.collection.drop/
    - Too many collections: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/reduce-collections/
    """
    for family in collection_families(case.profile):
        over = [m for m in family.members if m.end + _grace(case) <= case.profile.window.end]
        closed = [member for member in over if not _still_written(member, case.profile.window.end)]
        if len(closed) >= case.limit("min_closed").value:
            yield _finding(case, family, closed, len(over) - len(closed))


def _grace(case: Case) -> timedelta:
    return timedelta(days=case.limit("grace_days").value)


def _still_written(member: Member, now: datetime) -> bool:
    """Whether writes were counted after the period had ended. Counters of later than `now` tell of another time."""
    activity = member.measurement.activity
    if activity is None or activity.counted_since is None:
        return False
    return activity.writes > 0 and member.end <= activity.counted_since < now


def _finding(case: Case, family: CollectionFamily, closed: Sequence[Member], written: int) -> Finding:
    taken = sum(member.bytes for member in closed)
    freed = max(0.0, taken - _COUNT_BYTES * len(closed))
    limit = case.limit("min_freed_bytes")
    return Finding(
        subject=Subject(family.database, family.template),
        severity=Severity.WARN if freed >= limit.value else Severity.INFO,
        message=(
            f"{many(len(closed), 'closed ' + family.unit)} of {family.template} are kept in full; their counts alone "
            f"would free {size(freed)}."
        ),
        fix=case.fix(script=_script(family, closed)),
        observed=freed,
        limit=limit,
        unit="bytes",
        samples=(closed[0].name, closed[-1].name),
        evidence=(
            Evidence("bytes freed", number(freed)),
            Evidence("closed", f"{closed[0].name} to {closed[-1].name}"),
            Evidence("documents in them", number(sum(member.documents for member in closed))),
            Evidence("bytes by", family.how),
            Evidence("writes", _writes(closed)),
            *([Evidence("over by name, but still written", number(written))] if written else []),
        ),
        facts=("documents", "row_estimate", "storage", "activity"),
    )


def _writes(closed: Sequence[Member]) -> str:
    counted = [m.measurement.activity.counted_since for m in closed if m.measurement.activity]
    since = [time for time, member in zip(counted, closed, strict=False) if time is not None and time >= member.end]
    if len(since) < len(closed):
        return "not counted since the end of each; closed by the period in the name alone"
    return f"none since {max(since):%Y-%m-%d}, when the server began to count"


def _script(family: CollectionFamily, closed: Sequence[Member]) -> str:
    return _SCRIPT.format(
        database=_text(family.database),
        counts=_text(f"{family.stem or 'period'}_counts"),
        closed=_are_closed(family, [member.name for member in closed]),
    )


def _are_closed(family: CollectionFamily, closed: Sequence[str]) -> str:
    """The condition on a name: its form and the last one, where names sort as their periods do, else a list of all."""
    forms = {re.sub(r"\d", "0", name) for name in closed}
    if len(forms) > 1 or sorted(closed) != list(closed):
        return f"{_text(list(closed))}.includes(name)"
    form = re.sub(r"\d", r"\\d", re.sub(r"([\\/.*+?^${}()|\[\]])", r"\\\1", closed[0]))
    known = set(closed)
    still = [m.name for m in family.members if m.name <= closed[-1] and m.name not in known]
    besides = f" && !{_text(still)}.includes(name)" if still else ""
    return f"/^{form}$/.test(name) && name <= {_text(closed[-1])}{besides}"


def _text(value: str | list[str]) -> str:
    """As JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False)
