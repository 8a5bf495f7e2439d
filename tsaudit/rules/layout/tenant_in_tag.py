"""LAY009."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tsaudit.model.change import Diagnose, MergeMeasurements
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import SERIES_KINDS, Count, Database, Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import listed, number, values_of

_TENANT: Final = re.compile(
    r"(?:tenant|customer|org|organi[sz]ation|account)(?:[-_ ]?(?:id|key|code|no|number|name|uuid|slug))?", re.IGNORECASE
)
"""Names that identify tenants, as one word or two, including `customerId`."""
_BUYS_TOO: Final = re.compile(r"customer|account", re.IGNORECASE)
"""Beginning of names that a shop gives to the people who buy from it."""


@rule(
    code="LAY009",
    title="Tenants share a database, separated by a tag",
    guidelines=("F2",),
    requires={"measurements", "tag_keys"},
    uses={"tag_values", "documents"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "min_share",
            0.5,
            "share of the measurements",
            "our default: in most measurements it is the design, in a few it is a detail",
        ),
        Threshold("min_tenants", 2, "values", "our default: with one value, the database belongs to that tenant"),
        Threshold(
            "max_per_row",
            0.02,
            "customers or accounts per row",
            "our default: who pays for a service writes all the time, who buys from a shop orders now and then",
        ),
        Threshold("few_tenants", 20, "customers or accounts", "our default: with so few, the ratio is random"),
    ),
)
def tenant_in_tag(case: Case) -> Iterator[Finding]:
    """Databases or buckets where a tag in most measurements names the tenant; in MongoDB, a field.

    The rule recognizes the tag by its name: tenant, customer, org, organization, or account, alone or followed by a
    word such as id, key, or name. A customer or account may also be somebody who buys from a shop: with more than
    `few_tenants`, there must be fewer than `max_per_row` for each row. The tag must have at least `min_tenants`
    values somewhere, and be in at least `min_share` of the measurements. This is the design "one database for all
    tenants". The finding is a note: the design is fine, but other designs suit other needs.

    ## Why it matters

    One database for all is the simplest to query and maintain: one retention, one downsampling job. But it cannot keep
    one tenant's data longer than another's, or give someone read access to a single tenant. In InfluxDB 1 and 2,
    each tenant also multiplies the series.

    ## Example

    `customer_id` and `device_id` are tags of all measurements in the bucket `iot`.

    ## Fix

    Do nothing as long as all tenants are treated the same. If retention or permissions differ, use a database per
    tenant. For a large tenant, use a separate organization, account, or server.

    ## References

    - Single bucket, bucket per user, org per customer, InfluxData's guide:
      https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Databases and access in Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Multi-tenant architecture, MongoDB: https://www.mongodb.com/docs/atlas/build-multi-tenant-arch/
    """
    for database in case.profile.databases:
        inside = [m for m in case.measurements if m.database == database.name and (m.tags or m.fields)]
        named: dict[str, dict[str, Count | None]] = {}
        for measurement in inside:
            for key, values, rows in _columns(case, measurement):
                word = key.rsplit(".", 1)[-1]
                if _TENANT.fullmatch(word) and not _buys(case, word, values, rows):
                    named.setdefault(key, {})[measurement.name] = values
        for key, holding in sorted(named.items(), key=lambda one: (-len(one[1]), one[0]))[:1]:
            tenants = _most(holding)
            if _was_merged(case, holding):
                continue
            several = tenants is not None and tenants.value >= case.limit("min_tenants").value
            if tenants and several and len(holding) >= case.limit("min_share").value * len(inside):
                yield _finding(case, database, key, tenants, holding, inside)


def _was_merged(case: Case, holding: Iterable[str]) -> bool:
    """Whether an earlier audit wanted one measurement for all tenants: that this is the design is no news."""
    asked = (one.change for one in case.timeline.wanted)
    return not {change.into for change in asked if isinstance(change, MergeMeasurements)}.isdisjoint(holding)


def _columns(case: Case, measurement: Measurement) -> Iterator[tuple[str, Count | None, int | None]]:
    """The columns that could name a tenant, with their number of values and of the rows that have these; None for
    what is not known.
    """
    rows = measurement.rows.value if measurement.rows else None
    yield from ((tag.key, tag.values, rows) for tag in measurement.tags)
    if case.engine.keeps_documents:
        read = measurement.documents.read if measurement.documents else None
        yield from ((field.key, field.distinct, read) for field in measurement.fields)


def _buys(case: Case, word: str, values: Count | None, rows: int | None) -> bool:
    """Whether the tenants are more likely people who buy from a shop."""
    if values is None or rows is None or not _BUYS_TOO.match(word):
        return False
    return values.value > max(case.limit("few_tenants").value, case.limit("max_per_row").value * rows)


def _most(holding: Mapping[str, Count | None]) -> Count | None:
    """The largest of the numbers; None if none is known."""
    return max((values for values in holding.values() if values), key=lambda values: values.value, default=None)


def _finding(
    case: Case,
    database: Database,
    key: str,
    tenants: Count,
    holding: Mapping[str, Count | None],
    inside: Sequence[Measurement],
) -> Finding:
    words = case.engine.words
    without = sorted({m.name for m in inside} - holding.keys())
    return Finding(
        subject=Subject(database.name),
        message=(
            f"One {words.database} for all tenants: {key}, with {values_of(tenants)}, separates them in "
            f"{number(len(holding))} of {number(len(inside))} {words.measurement}s."
        ),
        fix=f"Nothing, if all tenants keep their data equally long and nobody but your own services reads "
        f"{database.name}: rights cannot tell tenants apart. Where queries name the tenant, {key} is best the "
        f"first {words.tag} of keys and indexes. Write one that needs more to a {words.database} of its own, such "
        f"as {database.name.replace('/', '_')}_tenant, and copy there what is stored.",
        changes=(Diagnose(Subject(database.name), "tenants", key),),
        observed=len(holding) / len(inside),
        limit=case.limit("min_share"),
        unit="share of the measurements",
        main_contributor=key,
        evidence=(
            Evidence(f"with {key}", listed(sorted(holding), 6)),
            Evidence("without it", listed(without, 6)),
        ),
        facts=("documents",) if case.engine.keeps_documents else ("tag_keys", "tag_values"),
        source=tenants.source,
    )
