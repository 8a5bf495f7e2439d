"""STO014."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.greptimedb.statements import set_option
from tsaudit.engines.greptimedb.tables import option, version
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import count


@rule(
    code="STO014",
    title="Files are still written in the former format",
    severity=Severity.INFO,
    guidelines=("E1",),
    requires={"options", "effective_options"},
    uses={"series_listing"},
    fixes={
        "any": (
            "{statement}\nIt can be switched back. Files of both formats are read alike; old ones are rewritten when "
            "they are compacted."
        )
    },
)
def former_file_format(case: Case) -> Iterator[Finding]:
    """Tables of GreptimeDB 1.0 or later that write files in the format `primary_key` of the versions before.

    Of 1.0, which does not tell the format of a table that names none, nothing is known. The vendor's advice for that
    case is to set `sst_format` to `flat` on tables that an older version made.

    ## Why it matters

    The former format keeps something in memory for each value of the key, and is slow to write where there are more
    than some 100 thousand. The present one, `flat`, has no such bound.

    ## Example

    A table made by version 0.17 and taken over by 1.1.

    ## Fix

    Switch the table over to `flat`; new files are written in it at once.

    ## References

    - SST format: https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/#sst-format
    - SST formats compared: https://greptime.com/blogs/2025-12-22-flat-format
    """
    if version(case.profile) < (1, 0):
        return
    for measurement in case.measurements:
        # A logical table of the metric engine has no files of its own; that is changed on the physical one.
        if option(measurement, "sst_format") == "primary_key" and not option(measurement, "on_physical_table"):
            yield _finding(case, measurement)


def _finding(case: Case, measurement: Measurement) -> Finding:
    known = count(measurement.series) if measurement.series else "not measured"
    return Finding(
        subject=subject_of(measurement),
        severity=Severity.INFO,
        message="The table writes its files in the format primary_key of versions before 1.0.",
        fix=case.fix(statement=set_option(case, measurement, "sst_format", "flat")),
        evidence=(Evidence("sst_format", "primary_key"), Evidence("values of the key", known)),
        facts=("options", "effective_options", "series_listing"),
    )
