"""STO016."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tsaudit.engines.timestream.tables import DATABASE_KEY, REJECTED, EncryptRejected
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed

_OWN_KEY = f"{REJECTED}.KmsKeyId"
_NOT_APPLIED: Final = Impact(
    Currency.MECHANISM,
    consequence="Whoever may use the database's key can read what another key should protect.",
    how="keys by DescribeDatabase and DescribeTable",
)


@rule(
    code="STO016",
    title="Data of one table is encrypted with different keys",
    costs={Currency.MECHANISM},
    guidelines=("F4",),
    requires={"options"},
)
def mixed_encryption(case: Case) -> Iterator[Finding]:
    """Tables whose rejected records are encrypted with a different key than the table itself.

    Records that a table's magnetic store rejects are written to S3, encrypted as set for that table. The table itself
    is encrypted with the key of its database. If a different customer key was chosen, someone wanted a protection that
    the database does not provide: a mechanism that does not work. If the copy uses a key of S3 or AWS, that is a note:
    it is weaker only if the database uses a customer key, and Timestream does not say whose key it is.

    ## Why it matters

    Keys, and the permissions to use them, are set per database: anyone who can read one table with a key can read
    everything else under it. A table that needs its own key needs its own database. A copy under a weaker key
    undermines the stronger one.

    ## Example

    `payments` is in a database with the key of the team that collects metrics; its rejected records use the key of the
    payments team.

    ## Fix

    Use one database for each key and each group of readers.

    ## References

    - Tables, databases, and keys: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Rejected data: https://docs.aws.amazon.com/timestream/latest/developerguide/API_S3Configuration.html
    """
    for measurement in case.measurements:
        options = measurement.options or {}
        key, other = options.get(DATABASE_KEY), _other_key(options)
        # A key can be named by its ID or by its ARN, which ends with the ID.
        if key and other and key.rpartition("/")[2] != other.rpartition("/")[2]:
            yield _finding(case, measurement, key, other)


def _other_key(options: Mapping[str, str]) -> str:
    """The encryption of rejected records; empty if they are not stored."""
    option = options.get(f"{REJECTED}.EncryptionOption")
    if option == "SSE_KMS":
        return options.get(_OWN_KEY, "AWS's key for S3")
    return "S3's own key" if option else ""


def _finding(case: Case, measurement: Measurement, key: str, other: str) -> Finding:
    beside = [m.name for m in case.measurements if m.database == measurement.database and m.name != measurement.name]
    return Finding(
        subject=subject_of(measurement),
        impact=_NOT_APPLIED if (measurement.options or {}).get(_OWN_KEY) else None,
        basis=Basis.DECLARED,
        message=f"The table is encrypted with {key}, its rejected records with {other}.",
        fix=f"If the data of {measurement.name} needs {other}, move the table to a database with that key instead: a "
        "database has one key, for all its tables.",
        changes=(EncryptRejected(subject_of(measurement), key),),
        evidence=(
            Evidence("key of the database", key),
            Evidence("encryption of rejected records", other),
            Evidence("other tables under the database's key", listed(beside, 10) or "none"),
        ),
        facts=("options",),
    )
