"""Two rules of Acme's: one for every engine, one for its own."""

from collections.abc import Iterator

from tsaudit import Case, Currency, Finding, Impact, Rule, Threshold
from tsaudit.rule import rule, subject_of

__all__ = ["ledger_without_currency", "shouted_name"]


@rule(
    code="ACME001",
    title="A name is in capital letters",
    costs={Currency.ANSWERS},
    requires={"measurements"},
    thresholds=(Threshold("max_capitals", 1, "characters", "Acme's naming guide, chapter 2"),),
)
def shouted_name(case: Case) -> Iterator[Finding]:
    """Measurements with more than `max_capitals` capital letters in their name.

    ## Why it matters

    Acme's importers compare names byte by byte.

    ## Fix

    Rename it.
    """
    for measurement in case.measurements:
        capitals, limit = sum(map(str.isupper, measurement.name)), case.limit("max_capitals", measurement)
        if capitals > limit.value:
            yield Finding(
                subject_of(measurement),
                f"{measurement.name} has {capitals} capital letters, more than {limit.value:g}",
                impact=Impact(Currency.ANSWERS, how="Acme's importers compare names byte by byte"),
                fix=f"Rename it to {measurement.name.lower()}.",
                observed=capitals,
                limit=limit,
            )


@rule(
    code="ACME002",
    title="A ledger has no currency",
    costs={Currency.REJECTED},
    requires={"columns"},
    engines=("acmedb",),
    family="names",
)
def ledger_without_currency(case: Case) -> Iterator[Finding]:
    """Sheets with an amount and no currency."""
    for measurement in case.measurements:
        columns = {name.lower() for name in measurement.columns}
        if "amount" in columns and "currency" not in columns:
            text = f"{measurement.name} has amounts, and nobody knows of what"
            lost = Impact(Currency.REJECTED, now=1, whole=1, how="the importer skips such sheets")
            yield Finding(subject_of(measurement), text, impact=lost, fix="Add a column `currency`.")


assert isinstance(shouted_name, Rule)
