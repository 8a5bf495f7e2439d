"""FLD002."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import MONEY, QUANTITY, is_single, is_text, names_code, words_of
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.number_forms import other_forms, plain_numbers
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ALIKE, ENOUGH, NEARLY_ALL
from tsaudit.engines.value_kinds import kind_of_texts
from tsaudit.model.change import ChangeType
from tsaudit.model.columns import Field, NumbersBy, StoppedTotals, TextsAmongNumbers
from tsaudit.model.figures import How, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.rules import downsampling, wrong_times
from tsaudit.text import count, listed, many, number, percent

_WORDS = {
    "integer": "whole numbers",
    "float": "numbers",
    "boolean": "true and false",
    "time": "times",
    "date": "dates",
}
_DAY = re.compile(r"\s*\d{4}-\d\d-\d\d\s*")
"""A date without a time of day."""
_NUMBERS = ("integer", "float")
_SIGN = "a comparison sign"
_FITS = {
    "integer": {"integer", "time"},  # A number with ten digits may be seconds since 1970.
    "float": {"float", "integer", "time"},
    "boolean": {"boolean", "integer"},
    "time": {"time"},
}
"""Patterns for single values of each kind."""


@rule(
    code="FLD002",
    title="A type does not fit the values, or times are wrong",
    costs={Currency.ANSWERS},
    guidelines=("C3",),
    requires={"field_types", "field_values"},
    uses={"early_rows", "indexes"},
    shows={"row_count", "null_counts", "scheduled_queries"},
)
def mistyped_field(case: Case) -> Iterator[Finding]:
    """Fields whose values have another type than the field, and times that are wrong.

    Most of it is based on the values read within the window, and is a note, because as text, values take hardly more
    bytes. These give wrong answers:

    - Text that contains numbers that were measured or counted: most have a fraction, or they are whole, many, far
      apart, and in another order as text. From 20 values on, the name is enough if it ends with what is measured, such
      as `in_bytes`. In tables that form no series, whole numbers are a note unless a word of their name says that they
      were measured. Those with an index are a note, and so are all in tables of fewer than 100 rows without series.
    - From 20 values on, those in another form than most: texts that are times in several formats, such as `2026-03-20`
      and `03/20/2026`, numbers since 1970 in several units, or numbers beside texts where an engine accepts both.
    - Texts in a column that is declared to contain numbers, and mostly does, which SQLite takes: sums count them as 0,
      or as what they begin with.
    - Totals in floats of four bytes that have stopped rising: from some power of two on, the next number is too far
      away for the steps. What goes up and down is none.
    - Times in a wrong unit: rows in January 1970 that are recent if their time since 1970 is read as milliseconds
      instead of nanoseconds, for example, and that no other rows of that year follow. Birth dates, a history that goes
      back to 1970, and 1970-01-01 00:00:00, which stands for no time, are none of these. On InfluxDB, the finding names
      tags that have one value in all of these points and others elsewhere.
    - Sources that are ahead of now, in SQL databases: a wrong clock or time zone shifts their rows by the same multiple
      of a quarter of an hour, while more of the others end at about now. They must have two rows ahead or more, as
      close together as before, at all hours. Schedules, bookings, and forecasts are not like that. Tables whose sources
      are all ahead are not reported.

    The notes are text fields that contain other numbers, booleans, or times, and float fields that only contain whole
    numbers. Not reported are numbers in a unique index, floats of four bytes, floats where no statement gives them
    another type, text with leading zeros, phone numbers, versions, numbers with more than fifteen digits, states such
    as `on` and `off`, and fields named like codes, devices, or numbered things.

    Where some values are lists of numbers, or several words, the text has to stay, and the numbers belong in a column
    beside it. Where at least two thirds of the distinct values are plain numbers, and nearly all others are numbers
    written otherwise, such as `12,4`, `<0.5`, or `3 kW`, no cast reads the others.

    ## Why it matters

    Text cannot be averaged or compared as numbers (`"9" > "10"`). Queries have to cast every value, which makes them
    two to eleven times slower, and fail on a value that cannot be cast. Rows in 1970 are found by no query for the last
    day, and a retention deletes them, or the server rejects them. Of a source whose clock is two hours ahead, a query
    up to now lacks the newest two hours.

    ## Example

    `temperature="21.5"` as a string: `mean(temperature)` is an error in InfluxDB, and silently 0 elsewhere.

    ## Fix

    Write whole numbers as integers, fractions as floats, amounts of money as decimals where the database has them, true
    and false as booleans, instants as timestamps, and days as dates.

    ## References

    - The best data type:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#use-the-best-data-type-for-your-data
    - Field types of InfluxDB:
      https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/#data-types
    """
    yield from (wrong_times.misdated(case, m, m.misdated) for m in case.profile.measurements if m.misdated)
    yield from (wrong_times.ahead(case, m, m.ahead) for m in case.profile.measurements if m.ahead)
    summaries = downsampling.results(case)
    for measurement in case.measurements:
        mixed = {one.column: one for one in measurement.other_times if wrong_times.is_mixed(one)}
        yield from (wrong_times.other_times(measurement, one) for one in mixed.values())
        rows = measurement.rows_known
        if rows < ALIKE:
            continue
        is_unclear = measurement.kind is TableKind.OTHER
        is_summary = (measurement.database, measurement.name) in summaries
        for field in (field for field in measurement.fields if field.key not in mixed):
            if field.stopped:
                yield _stopped(case, measurement, field, field.stopped)
            if field.texts and _are_exceptions(field.key, field.texts):
                yield _texts(measurement, field, field.texts)
                continue
            kind, is_in_key = _text_kind(case, field), _is_in_key(measurement, field)
            if (forms := _forms(case, field)) and not is_in_key:
                yield _otherwise(measurement, field, forms)
                continue
            if is_unclear and kind != "float":
                continue
            if field.numbers_by and measurement.has_series:
                yield _mixed(measurement, field, field.numbers_by)
            elif kind and not (kind == "integer" and is_in_key):
                others = _others(field) if kind in ("integer", "float") else None
                yield _beside(measurement, field, kind, *others) if others else _finding(case, measurement, field, kind)
            # A mean is a float, and its writer is a query.
            elif case.engine.alters_types and _is_whole(field) and not is_in_key and not is_summary:
                yield _finding(case, measurement, field, "integer")


def _stopped(case: Case, measurement: Measurement, field: Field, found: StoppedTotals) -> Finding:
    """A total that no longer rises, because a float of four bytes has no number that is so little higher."""
    stored, to = " and ".join(field.types), case.engine.sql_types["float"]
    lost = f"What is added to {field.key} is lost, so that differences and rates of it are 0."
    others = f"; {number(found.rising)} still rise{'s' if found.rising == 1 else ''}" if found.rising else ""
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=Impact(Currency.ANSWERS, how="the newest rows of each series, as read", consequence=lost),
        message=f"Field {field.key} is stored as {stored}, of four bytes, and {many(found.series, 'series', 'series')} "
        f"{'has' if found.series == 1 else 'have'} stopped rising, at {'' if found.series == 1 else 'up to '}"
        f"{number(found.value)}, where the next number is {number(found.next)} higher{others}.",
        fix=f"Give {field.key} the type {to} (`ALTER TABLE`, which rewrites the table), and have its writer add up in "
        "eight bytes, too. What was lost since can only be added up from what was measured.",
        observed=float(found.series),
        unit="series",
        main_contributor=field.key,
        evidence=(
            Evidence("stored as", stored),
            Evidence("stopped at", number(found.value)),
            Evidence("newest rows with it, of one series", number(found.rows)),
        ),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )


def _are_exceptions(key: str, found: TextsAmongNumbers) -> bool:
    """Whether most values are numbers that somebody may add up: nobody does that with codes, or with a column of texts
    that is only declared as another one.
    """
    return found.rows >= ALIKE and 2 * found.rows < found.filled and not names_code(key)


def _texts(measurement: Measurement, field: Field, found: TextsAmongNumbers) -> Finding:
    """Texts in a column of numbers: each counts as the number that it begins with, or as 0."""
    share, example = percent(found.rows / found.filled), redact_unless_name(found.example)
    of = listed([redact_unless_name(value) for value in found.by.others], 4) if found.by else ""
    writer, whose = (
        (f"{found.by.tag} {of}", f", all those of {found.by.tag} {of}") if found.by else ("their writer", "")
    )
    wrong = f"Sums and means of {field.key} count these values as 0, or as the number that they begin with."
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=Impact(Currency.ANSWERS, how="values read, by their type", consequence=wrong),
        message=f"Field {field.key} is declared as {' and '.join(field.types)}, and {share} of the values read are "
        f"texts, such as {example}{whose}.",
        fix=f"Let {writer} send numbers, with a point and without a unit. Then convert the stored texts. A CHECK "
        "constraint on the type rejects others.",
        observed=found.rows / found.filled,
        unit="share of the values read",
        main_contributor=field.key,
        samples=(found.example,),
        evidence=(Evidence("texts", f"{number(found.rows)} of {number(found.filled)} values read"),),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )


def _text_kind(case: Case, field: Field) -> str:
    """The type the values should have; empty if they really are text."""
    if not all(is_text(t) for t in field.types):
        return ""
    kind = kind_of_texts(field.key, field.sample, case.engine)
    if kind in ("integer", "float") and field.number_ratio and field.number_ratio.value < NEARLY_ALL:
        # Among the distinct values, `on` and `off` are two of hundreds; among the rows, they are many.
        return ""
    # One word may be the first of others.
    return "" if kind == "boolean" and len(field.sample) < 2 else kind


def _forms(case: Case, field: Field) -> dict[str, str]:
    """How else numbers are written in a text field that is meant for numbers, each with an example."""
    if not all(map(is_text, field.types)) or (field.number_ratio and 2 * field.number_ratio.value <= 1):
        return {}
    forms = other_forms(field.sample)
    return forms if forms and kind_of_texts(field.key, plain_numbers(field.sample), case.engine) in _NUMBERS else {}


def _otherwise(measurement: Measurement, field: Field, forms: Mapping[str, str]) -> Finding:
    """Most values are plain numbers, and others are numbers in these forms, which no cast reads."""
    plain = plain_numbers(field.sample)
    impact = _impact(measurement, field, shapes.number_kind(plain) or "")
    if impact is not None:
        missed = f"Casts of {field.key} to numbers fail on the others, or sums and means leave them out."
        impact = replace(impact, consequence=missed)
    said = [f"{form} ({example})" for form, example in forms.items()]
    sign = f" Keep the comparison sign in a column of its own, such as {field.key}_sign." if _SIGN in forms else ""
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=impact,
        message=f"Field {field.key} is stored as {' and '.join(field.types)}: of {number(len(field.sample))} distinct "
        f"values examined, {number(len(plain))} are plain numbers, and others are numbers with {listed(said)}.",
        fix=f"Write plain numbers, with a point and in one unit, to a new column such as {field.key}_number, and "
        f"convert what is stored in the same way.{sign}",
        main_contributor=field.key,
        samples=tuple(forms.values())[:3],
        evidence=(Evidence("plain numbers", f"{number(len(plain))} of {number(len(field.sample))} distinct values"),),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )


def _is_measured(measurement: Measurement, field: Field) -> bool:
    """Whether whole numbers are measured or counted: what series have is, and elsewhere the name has to say so. Most
    others are IDs, codes, or numbers of things, which nobody adds up, and so are those by which an index finds rows.
    """
    is_found = any(field.key in index.columns for index in measurement.indexes or ())
    return not is_found and (measurement.has_series or bool(words_of(field.key) & (QUANTITY | MONEY)))


def _is_in_key(measurement: Measurement, field: Field) -> bool:
    """Whether rows are found by it: then it says which one it is, and other tables have it as it is."""
    return any(index.unique and field.key in index.columns for index in measurement.indexes or ())


def _is_whole(field: Field) -> bool:
    # A single distinct value proves nothing: usually it is zero.
    several = field.distinct is not None and field.distinct.value > 1 and not any(map(is_single, field.types))
    return several and field.whole_ratio is not None and field.whole_ratio.value == 1


def _of_values(field: Field, kind: str) -> str:
    """How many of its values are of the kind: `all its values` only if each row was read and each value examined."""
    ratio = field.whole_ratio or (field.number_ratio if kind in ("integer", "float") else None)
    is_all = (ratio is None or ratio.value == 1) and not _exceptions(field, kind)
    looked_at = len(field.sample) if ratio is None or field.distinct is None else field.distinct.value
    every = field.distinct is not None and field.distinct.value <= looked_at
    if every and field.distinct is not None and field.distinct.source.how is How.EXACT:
        return f"{'all' if is_all else 'nearly all'} its values"
    return f"{'all' if is_all else 'nearly all'} {number(looked_at)} distinct values read"


def _exceptions(field: Field, kind: str) -> tuple[str, ...]:
    """Some values that are none of the kind: none of those that were read as numbers is."""
    if field.whole_ratio is not None:
        return ()
    return tuple(v for v in field.sample if v.strip() and shapes.number_kind((v,)) not in _FITS[kind])[:5]


_ONE: Final = r"(?:-?\d+(?:\.\d+)?|-)"
_LIST: Final = re.compile(rf"(?!\d{{1,3}}(?:,\d{{3}})+$){_ONE}(?:(?:\s*[,;|]\s*|\s+[:/]?\s*){_ONE})+")


_WORD: Final = re.compile(r"[^\W\d_]{3,}(?:[ _-][^\W\d_]+)*")
_NO_VALUE: Final = frozenset(
    (
        *("error", "inf", "infinity", "invalid", "missing", "nan", "nil", "none", "null", "unavailable", "undefined"),
        "unknown",
    )
)
"""Words that writers use in place of a number."""


def _others(field: Field) -> tuple[str, list[str]] | None:
    """What values are that a type of numbers would lose, and some of them: lists of numbers, such as one for each
    attempt, or words, such as the states of a door beside the temperatures of a room; None if there are none.
    """
    if lists := [v for v in field.sample if _LIST.fullmatch(v.strip()) and any(map(str.isdigit, v))]:
        return "lists of numbers", lists[:3]
    words = [v for v in field.sample if _WORD.fullmatch(v.strip()) and v.strip().lower() not in _NO_VALUE]
    return ("texts", words[:3]) if words else None


def _beside(measurement: Measurement, field: Field, kind: str, what: str, others: Sequence[str]) -> Finding:
    """A type of numbers would lose the other values. `what`: they are."""
    are_texts = what == "texts"
    # Nothing keeps a secret from being among them.
    shown = [redact_unless_name(value) for value in others] if are_texts else others
    such_as = "" if are_texts else ", such as the sum or the last number of each list,"
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=_impact(measurement, field, kind),
        message=f"Field {field.key} is stored as {' and '.join(field.types)}, and {_of_values(field, kind)} are "
        f"{_WORDS[kind]}; others are {what}, such as {shown[0]}.",
        fix=f"Write what is computed with{such_as} to a new column such as {field.key}_number. {field.key} stays text: "
        f"a number has no room for {what}.",
        main_contributor=field.key,
        samples=(others[0], *(v for v in field.sample if v not in others))[:3],
        evidence=(Evidence(what, listed(shown)),),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )


def _mixed(measurement: Measurement, field: Field, by: NumbersBy) -> Finding:
    # They name attributes, but nothing keeps a secret from being among them.
    numbers, others = (tuple(dict.fromkeys(map(redact_unless_name, values))) for values in (by.numbers, by.others))
    several = len(by.others) > 1
    how = "numbers and texts of each attribute, as read"
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=Impact(Currency.ANSWERS, how=how, consequence=costs.sorts_as_text(field.key)),
        message=f"Field {field.key} is stored as {' and '.join(field.types)}: by {by.tag}, its values are numbers "
        f"({listed(numbers, 4)}) or texts ({listed(others, 4)}).",
        fix=f"Write the numbers to a new column, such as {field.key}_number. The texts of "
        f"{'these attributes' if several else others[0]} stay in {field.key}.",
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence(f"{by.tag} with numbers", listed(numbers, 8)),
            Evidence(f"{by.tag} with texts", listed(others, 8)),
        ),
        facts=("field_types", "field_values"),
        source=field.number_ratio.source if field.number_ratio else None,
    )


def _impact(measurement: Measurement, field: Field, kind: str) -> Impact | None:
    """Queries for sums and ranges of measured numbers get wrong answers, or none, unless they find them elsewhere. A
    table of few rows is read as a whole, unless it is a young one of series.
    """
    if not measurement.has_series and measurement.rows_known < ENOUGH:
        return None
    if kind == "integer" and not _is_measured(measurement, field):
        return None
    if kind not in ("integer", "float") or not all(map(is_text, field.types)) or field.also_in:
        return None
    distinct = field.distinct.value if field.distinct else len(field.sample)
    return costs.of_numbers_as_text(field.key, field.sample, distinct)


_MAY_BE_MEASURED: Final = frozenset({"total", "quantity", "qty", "balance", "credit"})
"""Words for amounts of money that also stand in names of what is measured, such as a total of energy."""
_DIGITS_OF_MONEY: Final = re.compile(r"-?\d+(?:\.\d{,4})?")


def _is_money(case: Case, field: Field) -> bool:
    """Whether its values are amounts of money, and the engine has a type that adds them up to the cent."""
    fits = all(_DIGITS_OF_MONEY.fullmatch(value.strip()) for value in field.sample)
    return "decimal" in case.engine.sql_types and bool(words_of(field.key) & (MONEY - _MAY_BE_MEASURED)) and fits


def _finding(case: Case, measurement: Measurement, field: Field, kind: str) -> Finding:
    stored = " and ".join(field.types)
    to = "decimal" if kind == "float" and _is_money(case, field) else kind
    if kind == "time" and "date" in case.engine.sql_types and all(map(_DAY.fullmatch, field.sample)):
        to = "date"
    words = _WORDS.get(to, _WORDS[kind])
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=_impact(measurement, field, kind),
        message=f"Field {field.key} is stored as {stored}, and {_of_values(field, kind)} are {words}.",
        changes=(ChangeType(subject_of(measurement), field.key, to, _exceptions(field, kind)),),
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence("stored as", stored),
            Evidence("values are", words),
            *([Evidence("the same as numbers", field.also_in)] if field.also_in else []),
            Evidence("distinct values read", count(field.distinct) if field.distinct else number(len(field.sample))),
            *(
                [Evidence("of rows", field.distinct.source.scope)]
                if field.distinct and field.distinct.source.scope
                else []
            ),
        ),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )
