"""STO014."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.greptimedb.tables import option, version
from tsaudit.model.change import SetOption
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import count


@rule(
    code="STO014",
    title="Files are still written in the old format",
    guidelines=("E1",),
    requires={"options", "effective_options"},
    uses={"series_listing"},
)
def legacy_file_format(case: Case) -> Iterator[Finding]:
    """Tables of GreptimeDB 1.0 or later that write files in the format `primary_key` of earlier versions.

    Version 1.0 does not report the format of a table that does not set it, so the result is unknown there. In that
    case, the vendor recommends setting `sst_format` to `flat` on tables created by an older version.

    ## Why it matters

    The old format keeps data in memory for each value of the key, and writes become slow above some 100 thousand
    values. The current format, `flat`, has no such limit.

    ## Example

    A table created by version 0.17 and now used with 1.1.

    ## Fix

    Switch the table to `flat`; new files use it immediately.

    ## References

    - SST format:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/#sst-format
    - SST formats compared: https://greptime.com/blogs/2025-12-22-flat-format
    """
    if version(case.profile) < (1, 0):
        return
    for measurement in case.measurements:
        # A logical table of the metric engine has no files; the format is changed on the physical table.
        if option(measurement, "sst_format") == "primary_key" and not option(measurement, "on_physical_table"):
            yield _finding(measurement)


def _finding(measurement: Measurement) -> Finding:
    known = count(measurement.series) if measurement.series else "not measured"
    return Finding(
        subject=subject_of(measurement),
        message="The table writes its files in the format primary_key of versions before 1.0.",
        changes=(SetOption(subject_of(measurement), "sst_format", "flat"),),
        fix="It can be switched back, and files of both formats are read alike.",
        evidence=(Evidence("sst_format", "primary_key"), Evidence("values of the key", known)),
        facts=("options", "effective_options", "series_listing"),
    )
