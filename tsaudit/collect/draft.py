"""A measurement under construction: what is known about it so far, what the next steps need to know, and the rows read
of it. Each of their columns is encoded once, for all that ask about its values.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import Codes
from tsaudit.analysis.columns.columns import UNITS, Column, TimeColumn, TimeKind
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.analysis.shapes.number_forms import PLACEHOLDER
from tsaudit.analysis.values.label_sets import FORM_SHARE, OPENING
from tsaudit.engines.quoting import Label
from tsaudit.model.columns import Field, Tag
from tsaudit.model.facts import TablePart
from tsaudit.model.figures import Count, Gap, Role, Window
from tsaudit.model.profile import Measurement
from tsaudit.text import many


def content_of(batches: Iterable[pa.RecordBatch]) -> bytes:
    """A digest of these batches: their columns, with names and types, and all values."""
    digest = hashlib.blake2b(digest_size=16)
    for batch in batches:
        digest.update(repr([batch.num_rows, batch.schema.names, batch.schema.types]).encode("utf-8", "surrogatepass"))
        # What a batch serializes to lacks its dictionaries.
        plain = [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in batch.columns]
        digest.update(pa.RecordBatch.from_arrays(plain, batch.schema.names).serialize())
    return digest.digest()


Mask = npt.NDArray[np.bool_]

NUMBER: Final = r"^\s*([+-]?\d{0,15}\.\d+|-?(0|[1-9]\d{0,14})\.?)([eE][+-]?\d+)?\s*$"
"""A string that is a number. A whole one is none with a plus sign, as of a phone, with leading zeros, as of a code, or
with more digits than anything measured.
"""
_DECIMAL: Final = r"[+-]?\d+\.\d+"
_DECIMALS: Final = rf"^\s*[(\[]?{_DECIMAL}(\s*[,;|/ ]\s*{_DECIMAL})+[)\]]?\s*$"
"""Several numbers with a fraction, such as a position: whole numbers may as well be codes."""
_NUMBERS_BEGIN: Final = frozenset("0123456789+-.([")
"""What the first character of a string is that is one or several numbers."""
_TIMES_NAMED: Final = 10
_DIGITS_NAMED: Final = 4


class ReadColumn:
    """A column of the rows read."""

    def __init__(self, values: pa.ChunkedArray) -> None:
        # An enumeration comes with codes of its own, also for values that no row has.
        self.values = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def type(self) -> pa.DataType:
        """Of the values, as Arrow names it."""
        return self.values.type

    @cached_property
    def known(self) -> Mask:
        """Whether each row has a value."""
        if not self.values.null_count:
            return np.ones(len(self.values), np.bool_)
        found: Mask = self.values.is_valid().to_numpy()
        return found

    @cached_property
    def filled(self) -> int:
        """The number of rows with a value."""
        return len(self.values) - int(self.values.null_count)

    @property
    def codes(self) -> Codes:
        """A number per row: equal for equal values, from 0 without gaps, in the order of first rows; -1 for null."""
        return self._encoded[0]

    @property
    def distinct(self) -> pa.Array:
        """The values by code. Those of types that Arrow cannot encode are strings."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[Codes, pa.Array]:
        if pa.types.is_null(self.type):
            return np.full(len(self), -1), pa.array([], pa.string())
        try:
            found = self.values.combine_chunks().dictionary_encode()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            found = as_text(self.values).combine_chunks().dictionary_encode()
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        indices = found.indices
        codes: Codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy().astype(np.int64)
        return codes, found.dictionary

    @property
    def codes_of_words(self) -> Codes:
        """The same, and -1 for an empty string, too."""
        empty = pc.index(self.texts, "").as_py()
        return self.codes if empty < 0 else np.where(self.codes == empty, -1, self.codes)

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """The number of rows of each distinct value, by code."""
        return np.bincount(self.codes + 1, minlength=len(self.distinct) + 1)[1:]

    @cached_property
    def texts(self) -> pa.StringArray:
        """The distinct values as strings, by code."""
        if self.distinct.type == pa.string():
            return self.distinct
        texts = as_text(pa.chunked_array([self.distinct])).combine_chunks()
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The rows in the order of their values; null is last."""
        rows: npt.NDArray[np.intp] = pc.sort_indices(self.values).to_numpy().astype(np.intp)
        return rows

    @property
    def ranks(self) -> Codes:
        """A number per row, in the order of the values; null is last."""
        ranks: Codes = np.empty(len(self), np.int64)
        ranks[self.order] = np.arange(len(self))
        return ranks

    def where(self, mask: Mask) -> ReadColumn:
        """Only the rows for which the mask is true."""
        return self if mask.all() else ReadColumn(self.values.filter(pa.array(mask)))

    @cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Characters of the distinct values as strings, by code."""
        found: npt.NDArray[np.int32] = pc.utf8_length(self.texts).to_numpy()
        return found

    @property
    def mean_length(self) -> float:
        """Mean characters of the values as strings; 0 without values."""
        return float((self.lengths * self.rows).sum()) / self.filled if self.filled else 0.0

    @property
    def longest(self) -> int:
        """Characters of the longest value as a string; 0 without values."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def number_share(self) -> float:
        """The share of the strings that are numbers, without null and what stands for it; 0 if nothing is left."""
        return self._share(NUMBER)

    @cached_property
    def measured_share(self) -> float:
        """The same for strings that are one or several numbers: none of them names the source of a row."""
        return self._share(f"{NUMBER}|{_DECIMALS}")

    @cached_property
    def initials(self) -> frozenset[str]:
        """The first characters of the strings, without blanks before them; an empty string for a blank one."""
        found = frozenset(pc.utf8_slice_codeunits(self.texts, 0, 1).unique().to_pylist())
        if any(map(str.isspace, found)):
            begin = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(self.texts), 0, 1)
            found = frozenset(begin.unique().to_pylist())
        return found

    def _share(self, pattern: str) -> float:
        if self.initials.isdisjoint(_NUMBERS_BEGIN):
            # To compile a pattern takes longer than to compare it with the few texts of most columns.
            return 0.0
        # Each text is compared once, however many rows have it.
        is_said = ~pc.match_substring_regex(self.texts, PLACEHOLDER).to_numpy(zero_copy_only=False)
        said = int(self.rows[is_said].sum())
        if not said:
            return 0.0
        fits = pc.match_substring_regex(self.texts, pattern).to_numpy(zero_copy_only=False)
        return int(self.rows[is_said & fits].sum()) / said

    @cached_property
    def are_names(self) -> bool:
        """Whether the strings are whole numbers that name things: all of one length, and each many times. Those of what
        is measured have any length, or are hardly ever the same.
        """
        if not len(self.texts) or self.filled < _TIMES_NAMED * len(self.texts) or not self.initials <= _NUMBERS_BEGIN:
            return False
        is_whole = bool(pc.all(pc.ascii_is_decimal(self.texts)).as_py())
        return is_whole and int(self.lengths.min()) == self.longest >= _DIGITS_NAMED

    @cached_property
    def may_have_label_sets(self) -> bool:
        """False if so many values are texts of another form that `label_sets` finds none."""
        if not pa.types.is_string(self.type):
            return True
        if self.filled and self.initials.isdisjoint(OPENING):
            return False
        begin = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(self.texts), 0, 1)
        opens = pc.is_in(begin, pa.array(OPENING)).to_numpy(zero_copy_only=False)
        return int(self.rows[opens].sum()) >= FORM_SHARE * self.filled


class ReadRows:
    """The rows read, with their columns by name."""

    def __init__(self, table: pa.Table) -> None:
        self.num_rows = table.num_rows
        self._columns = {
            name: ReadColumn(column) for name, column in zip(table.column_names, table.columns, strict=True)
        }
        self._times: dict[tuple[str, TimeKind], ReadColumn] = {}

    @classmethod
    def of(cls, batches: Sequence[pa.RecordBatch], names: Sequence[str] = ()) -> ReadRows:
        """The rows of these batches. Where columns have types that do not go together, all values become strings, but
        for times of one type. `names`: those of the columns, if other than in the batches.
        """
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        tables = [table.rename_columns(names) for table in tables] if names else tables
        if not tables:
            return cls(pa.table({name: pa.nulls(0) for name in names}))
        try:
            return cls(pa.concat_tables(tables, promote_options="permissive"))
        except pa.ArrowTypeError:
            types = [table.schema.types for table in tables]
            are_times = [pa.types.is_timestamp(each[0]) and len({*each}) == 1 for each in zip(*types, strict=True)]
            columns = (
                [c if keep else as_text(c) for c, keep in zip(t.columns, are_times, strict=True)] for t in tables
            )
            return cls(pa.concat_tables([pa.table(each, names=tables[0].column_names) for each in columns]))

    def column(self, name: str) -> ReadColumn:
        """One column."""
        return self._columns[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._columns

    def with_column(self, name: str, values: pa.Array) -> ReadRows:
        """The same with one more column."""
        other = ReadRows.__new__(ReadRows)
        other.num_rows, other._times = self.num_rows, self._times
        other._columns = {**self._columns, name: ReadColumn(pa.chunked_array([values]))}
        return other

    def times_us(self, name: str, kind: TimeKind) -> ReadColumn:
        """A column of times in microseconds since 1970; null for those that cannot be read."""
        if (name, kind) not in self._times:
            self._times[name, kind] = ReadColumn(epoch_us(self._columns[name].values, kind))
        return self._times[name, kind]


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as strings; types that Arrow cannot convert are converted by Python."""
    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])


def epoch_us(times: pa.ChunkedArray, kind: TimeKind) -> pa.ChunkedArray:
    """The times in microseconds since 1970; null for those that cannot be read."""
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        # Not by way of Python, whose datetime does not have all the years that databases store.
        return times.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    if kind not in UNITS and pa.types.is_string(times.type):
        for zone in ("UTC", None):
            # All have a zone, or none has; others are read one by one.
            with contextlib.suppress(pa.ArrowInvalid):
                return times.cast(pa.timestamp("us", zone)).cast(pa.int64())
    epoch = datetime.fromtimestamp(0, UTC)
    read = [instant_of(value, kind) for value in times.to_pylist()]
    return pa.chunked_array([pa.array([t and (t - epoch) // timedelta(microseconds=1) for t in read], pa.int64())])


LONGEST: Final = 1000
"""Most characters read of each string: enough to recognize what it contains, even if the column contains documents."""


@dataclass(frozen=True, slots=True)
class PartialScan:
    """The rows of a big table that may be read."""

    newest: bool
    """True: the newest rows, from an index. False: rows on pages selected at random, the same pages each time."""
    rows: int | None
    """Number of rows within the window, as estimated by the planner; None if it has no statistics of the time column.
    """
    rows_all: int
    most: int
    """Most rows that one statement may read."""

    def of(self, rows: int) -> TablePart:
        """The parameters for reading this many rows within the window."""
        inside = self.rows_all if self.rows is None else self.rows
        share = min(rows / max(inside, 1), self.most / max(self.rows_all, 1))
        return TablePart(self.newest, rows, f"{min(100.0, max(100 * share, 1e-4)):.6f}")

    def words(self, rows: int) -> str:
        """Which rows were read."""
        return f"the newest {many(rows, 'row')}" if self.newest else f"{many(rows, 'row')} on pages chosen at random"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The engine's statistics about a column."""

    distinct: int | None
    at_least: bool
    """True if `distinct` is only a lower bound, because it covers a part of the rows."""
    null_ratio: float | None
    common_values: tuple[str, ...]
    sampled_rows: int
    """The number of rows they were computed from, unless the table has fewer."""
    analysed_at: datetime | None
    """When they were computed; None if never, or if the engine no longer knows."""
    changed_ratio: float | None
    """Rows written since then, as a share of all rows (0-1); None if not counted."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One measurement as far as it is known. Steps take one and return one with more information."""

    measurement: Measurement
    """The part that goes into the profile. Everything else in this class is only for the steps."""
    is_indexed: bool = False
    """Whether its tags and tag sets come from an index, which has no window."""
    columns: tuple[Column, ...] = ()
    """Its columns as in the catalog; empty for an engine that declares tags and fields itself."""
    referred_to: bool = False
    """Whether foreign keys of other tables refer to it."""
    refers: frozenset[str] = frozenset()
    """Columns that refer to another table, by a foreign key or by their names."""
    reads_all_parts: bool = True
    """Whether rows from all parts of it can be read without the others: by rowid in SQLite, which some tables lack."""
    never_source: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot name the source of a row, whatever their type, with the reason."""
    time: TimeColumn | None = None
    """The time column, and how it stores times; see `with_time`."""
    roles_known: bool = True
    """False if the roles of its columns could not be determined: then nothing more is queried about it."""
    policies: tuple[str, ...] = ()
    """Retention policies of its database (InfluxDB)."""
    is_divided: bool = False
    """Whether its database is one of several retention policies; its tag keys are then those of all policies together.
    """
    previous: Measurement | None = None
    """The same measurement in the previous profile."""
    reused: bool = False
    """Whether its expensive facts were reused from the previous profile."""
    statistics: Mapping[str, ColumnStatistics] | None = None
    """Column to the engine's statistics about it; None if the whole table may be read without checking."""
    oldest: datetime | None = None
    """Its oldest time; None if it was not needed to find the time column."""
    newest: datetime | None = None
    """Its newest time, whatever the window; None if that was not looked up."""
    partial_scan: PartialScan | None = None
    """Which of its rows may be read; None: all rows within the window."""
    unreadable: Gap | None = None
    """Why none of its rows are read: the user may not read them, or the columns or the cost of reading are unknown.
    None if rows may be read.
    """
    listing_window: Window | None = None
    """The period that the listing of its tag sets covers; None before there is one."""
    some_series: Sequence[Mapping[str, str | None]] = ()
    """A few of its tag sets, selected evenly from the listing, even from a listing that was stopped early; or values of
    one tag, see `read_by`.
    """
    read_by: str = ""
    """The tag whose values are in `some_series`, because whole tag sets are not known; empty if they are."""
    each_type: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Fields of which a query returns one type only, to the types that it names to return all: the one that it returns
    otherwise comes first. Empty where a query cannot name types.
    """
    unread: tuple[Field, ...] = ()
    """Fields whose values are not read, because it has too many; not among `fields`."""
    sample: ReadRows | None = None
    """The newest rows; see `read`. None if none were read, or if there are none."""
    sample_limit: int = 0
    """The number of rows requested for the sample."""
    sampled_since: datetime | None = None
    """The start of the period that the sample covers, if later than the window's start; None for the whole window."""
    sampled_series: int = 0
    """The number of series whose rows were read; 0 for all."""
    counted: Count | None = None
    """All rows of any time, as counted to find that; None if not counted. It does not decide how much is read."""

    @classmethod
    def new(cls, database: str, name: str) -> Draft:
        """A measurement of which only the name is known."""
        return cls(Measurement(database, name, None, (), ()))

    @property
    def database(self) -> str:
        """The name of its database."""
        return self.measurement.database

    @property
    def name(self) -> str:
        """Its name."""
        return self.measurement.name

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Its tags so far."""
        return self.measurement.tags

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields so far, without those that are not read."""
        return self.measurement.fields

    @property
    def estimated_rows(self) -> int | None:
        """The number of all rows, whatever their time, according to the engine; None if unknown."""
        return self.measurement.rows_total.value if self.measurement.rows_total else None

    def window(self, audited: Window) -> Window:
        """The period whose rows are measured: its own, or that of the audit."""
        return self.measurement.own_window or audited

    def about(self, audited: Window) -> dict[str, Any]:
        """The fields of `OfMeasurement`, of any query about it. `audited`: the period, unless it has its own."""
        window = self.window(audited)
        return {
            "database": self.database,
            "measurement": self.name,
            "tags": [self._name(t) for t in self.tags],
            "fields": [f.key for f in self.fields],
            "time": self.time.name if self.time else None,
            "time_kind": self.time.kind.value if self.time else None,
            "policies": list(self.policies),
            "start": window.start,
            "end": window.end,
        }

    def _name(self, tag: Tag) -> str:
        """The tag's name for queries, which shows where to read it if it is a label."""
        column = next((c for c in self.columns if tag.label_of and c.name == tag.label_of), None)
        if column is None:
            return tag.key
        return Label.of(column.name, column.data_type, tag.key.removeprefix(f"{column.name}."))

    @property
    def rows_read(self) -> ReadRows:
        """The sample, where there is one."""
        assert self.sample is not None
        return self.sample

    def read(self, role: Role, key: str) -> ReadColumn:
        """One column of the rows read. In InfluxDB, a tag and a field may have one name, so it is not enough."""
        return self.rows_read.column(f"{role} {key}" if self.is_indexed else key)

    def read_types(self, key: str) -> ReadColumn:
        """The type of each value of a field of `each_type`."""
        return self.rows_read.column(f"type {key}")

    def read_times(self) -> tuple[ReadColumn, ReadColumn]:
        """The times of the rows read, as stored, and in microseconds since 1970; see `ReadRows.times_us`."""
        assert self.time is not None
        name = "time" if self.is_indexed else self.time.name
        return self.rows_read.column(name), self.rows_read.times_us(name, self.time.kind)

    @property
    def is_read_whole(self) -> bool:
        """Whether the sample contains all rows within the window, for the series it was taken from."""
        if self.sample is None:
            return self.partial_scan is None
        # Rows that have none of the fields read are not returned.
        is_all = self.sample.num_rows < self.sample_limit and self.sampled_since is None and not self.unread
        return is_all and not self.is_of_pages

    @property
    def is_empty(self) -> bool:
        """Whether rows were read, and there are none within the window."""
        return self.sample is None and self.is_read_whole and "row_sample" in self.measurement.statements

    @property
    def is_of_pages(self) -> bool:
        """Whether the rows read are those of pages at random."""
        return self.partial_scan is not None and not self.partial_scan.newest

    @property
    def is_even(self) -> bool:
        """Whether the rows read are from all of the window alike, unlike the newest rows."""
        return self.is_read_whole or self.is_of_pages

    @property
    def is_too_big(self) -> bool:
        """Whether only a part of its rows may be read: False also if the newest rows turned out to be all rows within
        the window, contrary to the planner's estimate.
        """
        return self.partial_scan is not None and not self.is_read_whole

    def with_time(self, time: TimeColumn | None) -> Draft:
        """The draft with this time column; None if it has none."""
        return replace(
            self,
            time=time,
            measurement=replace(
                self.measurement,
                time_column=time.name if time else None,
                time_reason=time.reason if time else "",
                time_type=next((c.data_type for c in self.columns if time and c.name == time.name), None),
            ),
        )

    def sent(self, fact: str, statement: str) -> Draft:
        """The draft with the statement that was sent for the fact."""
        statements = {**self.measurement.statements, fact: statement}
        return replace(self, measurement=replace(self.measurement, statements=statements))

    def finished(self) -> Measurement:
        """The measurement for the profile, with everything in an order that does not depend on the server's."""
        return replace(
            self.measurement,
            tags=tuple(sorted(self.tags, key=lambda t: t.key)),
            fields=tuple(sorted((*self.fields, *self.unread), key=lambda f: f.key)),
            statements=dict(sorted(self.measurement.statements.items())),
            rows_total=self.measurement.rows_total or self.counted,
        )
