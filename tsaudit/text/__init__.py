"""The wording shared by all outputs: messages of rules, report, Slack, command line, JSON, and Dagster."""

from tsaudit.text.figures import count, over_time, rows_of, under, values_of
from tsaudit.text.names import listed, nearest, printable, short_fingerprint
from tsaudit.text.numbers import (
    amount,
    change,
    in_full,
    many,
    number,
    percent,
    plural,
    quantity,
    rounded,
    rounded_down,
    short,
    size,
)
from tsaudit.text.times import day, duration, instant, retention, span

__all__ = [
    "amount",
    "change",
    "count",
    "day",
    "duration",
    "in_full",
    "instant",
    "listed",
    "many",
    "nearest",
    "number",
    "over_time",
    "percent",
    "plural",
    "printable",
    "quantity",
    "retention",
    "rounded",
    "rounded_down",
    "rows_of",
    "short",
    "short_fingerprint",
    "size",
    "span",
    "under",
    "values_of",
]
