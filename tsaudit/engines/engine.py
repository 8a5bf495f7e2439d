"""The definition of an engine: a base class whose methods and attributes each engine's package overrides.

Everything specific to an engine is in its package, `tsaudit/engines/<name>/` or one of another distribution; all other
code uses this class. Code outside of these packages never compares names of engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

from tsaudit.engines.quoting import Language, Qualified

if TYPE_CHECKING:
    from tsaudit.engines.advice import Advice
    from tsaudit.engines.connection import Access, Connection
    from tsaudit.model.columns import Tag
    from tsaudit.model.finding import Impact
    from tsaudit.model.profile import Database, Measurement, Profile
    from tsaudit.model.rows import MisdatedRows
    from tsaudit.model.server import IdSequence
    from tsaudit.model.storage import Index

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The format of an engine's name."""

_ENTRY_BYTES: Final = 14
"""Bytes of an index entry, in addition to its values."""


@dataclass(frozen=True, slots=True)
class Words:
    """The terms that the engine's users know, in the singular."""

    database: str = "database"
    measurement: str = "table"
    tag: str = "tag"
    retention: str = "policy"
    """The setting for how long data is kept."""
    series: str = (
        "One distinct combination of the values of the columns that identify the source of a row (the tags). "
        "A SQL database does not declare which columns those are: tsaudit infers them, or reads them from `columns` in "
        "tsaudit.yaml."
    )
    """What a series is on this engine: complete sentences."""
    as_field: str = (
        "A field is not indexed: queries that filter or group by it read all rows. Of points with the same "
        "tags and time,\n"
        "only the last value is kept."
    )
    """Other effects of turning a tag into a field, as lines for a terminal."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """How to recognize a server with default settings on this machine: by its response over HTTP."""

    port: int
    path: str
    """The path to request."""
    answers: re.Pattern[str]
    """What the response must contain."""
    url: str
    """The server's address as a target."""
    header: str = ""
    """The header of the response to check; empty: its body."""
    is_native: bool = False
    """Whether the server does not answer over HTTP: `answers` must then match the result of
    `net.port_probe.what_listens`, and `path` is not used.
    """


@dataclass(frozen=True, slots=True)
class Failure:
    """The meaning of a failing mechanism of the server."""

    words: str
    """What happens, as a sentence without its period; `{name}` is the mechanism's name in `server_status`, `{own}` the
    part of it after the first word, and `{size}` or `{age}` its value, if that is a number of bytes, or of seconds, and
    not of failures.
    """
    fix: str
    """What to do; `{own}` as above."""
    consequence: str = ""
    """What happens if nothing is done; empty if only the server knows."""
    rejects_writes: bool = False
    """Whether the server rejects writes as long as the mechanism fails."""
    keeps_dead_rows: bool = False
    """Whether rows that are deleted or outdated stay because of it."""
    is_note: bool = False
    """Whether nothing fails yet: it is a note, and what may happen is only said in `words`."""


@dataclass(frozen=True, slots=True)
class Downsampling:
    """A query that the database runs by itself, to write the summary of some measurements to another place."""

    name: str
    database: str
    """The server's name of the database that it belongs to."""
    source: str
    """The database that it reads, or the retention policy that is audited as one."""
    policy: str
    """The server's name of the source's retention policy."""
    reads: tuple[str, ...]
    """The measurements that it reads there."""
    target: str
    """The database that it writes to, or the retention policy that is audited as one."""
    writes: tuple[str, ...]
    """The measurements that it writes there."""
    every: timedelta
    """How often it runs, or how long the time is that it makes a row of, if that is longer."""
    statement: str


@dataclass(frozen=True, slots=True)
class ServerLimit:
    """A maximum number of something that a server allows, or its vendor recommends."""

    name: str
    """The limit's name as in tsaudit.yaml, `<rule>.<limit>`: the rule says what is counted; usually `near-limit`."""
    value: float | None
    """The maximum; None: only the server reports it."""
    source: str
    """The vendor's page."""
    edition: str = ""
    """The product or format that has the limit, as `Engine.edition` names it; empty for all."""
    plan: str = ""
    """The value of `plan:` for targets that have the limit; empty for all targets."""
    setting: str = ""
    """Name in the fact `server_status` of the server's own value, which has precedence over this one; 0: no limit."""
    settings: str = ""
    """How the server's own value follows from its settings; empty if `setting` is one of them."""
    is_enforced: bool | None = True
    """Whether the server rejects what exceeds the limit; False for a recommendation. None: `Engine.enforces_limits`."""
    fix: str = ""
    """What to do if the limit is near, in complete sentences; empty for the advice that is the same on all engines."""


class Engine:
    """An engine. A subclass sets `name` and `example_url`, implements `connect`, and overrides what differs.

    Methods import what they need, so that listing the engines requires no driver.
    """

    name: str = ""
    """The value of `engine:` in tsaudit.yaml."""
    example_url: str = ""
    """Example address, in which `{name}` stands for the name of the database."""
    other_names: tuple[str, ...] = ()
    """Other names for the engine, which people may use as `engine:` or as the scheme of its addresses."""
    extra: str | None = None
    """The extra that installs its driver; None if the core includes it."""
    icon: str = ""
    """The name of its product in asset catalogs; empty for `name`."""

    # Set by tsaudit if the engine comes from another package.
    package: str = ""
    """The distribution that provides the engine, and its version; empty for tsaudit itself."""
    broken: str = ""
    """Why the engine cannot be used, in one line: its package could not be loaded. Empty for a usable engine."""

    # --- Connecting ---------------------------------------------------------------------------------------------------

    connector: str = ""
    """The function that opens a connection, as `module:name`; unused if the engine overrides `connect`."""

    def connect(self, access: Access) -> AbstractContextManager[Connection]:
        """Open a connection.

        Raises ConnectorError, and ModuleNotFoundError without the driver.
        """
        opened: AbstractContextManager[Connection] = resolve_name(self.connector)(access)
        return opened

    def spelled(self, url: str) -> str:
        """The address with the engine's own scheme instead of an alternative one."""
        scheme, separator, rest = url.partition("://")
        return f"{self.example_url.partition('://')[0]}://{rest}" if separator and scheme in self.other_names else url

    file_magic: tuple[int, bytes] | None = None
    """The signature of the engine's files: position and bytes. None without files, or without a known signature."""
    local: LocalServer | None = None
    """How to recognize a server on this machine; None if that is not possible."""
    signs_in_by_token: bool = False
    """Whether a token is required if an address has no password."""
    connects_without_login: bool = False
    """Whether a wrong login is only noticed by the first query, because a server tells everybody its version."""
    reads_password_apart: bool = False
    """Whether the separate `password:` is used for an address that has only a user name."""
    keeps_login_apart: bool = False
    """Whether the address contains no login: the engine takes `username:` and `password:` instead."""
    default_schema: str | None = None
    """For engines whose databases are schemas: the schema in which every session finds unqualified names, empty for
    none. None: databases are not schemas, and names need no qualification.
    """
    is_a_file: bool = False
    """Whether the address is `scheme:///path`; a relative path is relative to the folder of tsaudit.yaml."""
    has_one_database: bool = False
    """Whether the address contains the database, so that `databases:` lists schemas within it."""
    right_to_list: str = ""
    """The right to a database without which the server does not list it; empty if it lists all databases, so that one
    that is no longer listed was dropped.
    """
    reads_each_type: bool = False
    """Whether fields of which a query returns only one type are read by naming each."""
    settings_are_for_admins: bool = False
    """Whether the server shows its settings only to accounts to which it lists all databases."""

    def has_magic(self, head: bytes) -> bool:
        """Whether a file with these first bytes has the engine's file signature."""
        position, magic = self.file_magic or (0, b"")
        return bool(magic) and head[position:].startswith(magic)

    # --- Language -----------------------------------------------------------------------------------------------------

    language: Language = Language.SQL
    words: Words = Words()
    keywords: tuple[str | Path, ...] = ()
    """Files with the reserved words of its users' languages, one a line: absolute or relative to `tsaudit/engines/`."""
    takes_line_protocol: bool = False
    sql_types: Mapping[str, str] = {
        "integer": "BIGINT",
        "float": "DOUBLE",
        "boolean": "BOOLEAN",
        "time": "TIMESTAMP",
    }
    """Type of a change to the name of the SQL type for it. Without `decimal`, amounts of money are floats; without
    `date`, days are timestamps.
    """

    def quoted(self, name: str | Qualified) -> str:
        """`name` as an identifier, qualified with its schema if it would not be found otherwise."""
        if isinstance(name, str):
            return self.language.identifier(name)
        own = self.language.identifier(name.name)
        if name.path:
            return ".".join([*(self.language.identifier(part) for part in name.path), own])
        if self.default_schema in (None, name.database):
            return own
        return f"{self.language.identifier(name.database)}.{own}"

    # --- Measuring ----------------------------------------------------------------------------------------------------

    measuring: str = ""
    """The module whose `MEASURING`, a subclass of `tsaudit.collect.measuring.Measuring`, measures its measurements.
    Empty: they are measured as tables with columns.
    """
    prunes_ranges: bool = False
    """Whether it knows the lowest and highest value of each part of a column, to find a range without an index."""
    has_series_index: bool = False
    """Whether an index lists tags, fields, and tag sets as long as any of their points is stored."""
    sql_folders: tuple[Path, ...] = ()
    """Folders with its query files; the first with a file for a fact is used. Empty for tsaudit's `sql/<name>`."""
    parameters: Mapping[str, str] = {}
    """Query parameters that its connector adds to those of the facts (`facts.given`): name to meaning."""
    infers_roles: bool = False
    """Whether tables do not declare which columns are the time and the tags: tsaudit infers them, and may be wrong."""
    enforces_types: bool = True
    """Whether a column holds only values of its type."""
    alters_types: bool = False
    """Whether a statement gives a column of numbers another type. Elsewhere, others are rejected or stay apart."""
    keeps_documents: bool = False
    """Whether it stores documents, with any fields: tsaudit knows only those in the documents it read."""
    describes_singly: bool = False
    """Whether each table is described by a separate statement, which may be denied for some tables."""
    has_rights_by_table: bool = False
    """Whether users may be allowed to read only some tables of a database, which shows only when reading them."""
    measurements_per_statement: Mapping[str, int] = {}
    """Fact to the number of measurements per statement; the statements run one after the other. For other facts, one
    statement covers all measurements.
    """
    batched_facts: frozenset[str] = frozenset()
    """Facts about one measurement that one statement can query for several measurements of a database: the engine's
    connection is then a `connection.QueriesBatches`.
    """
    total_falls_short: float | None = None
    """By what share the engine's count of all rows may be lower than the number of readable rows, because of rows that
    arrived since. None: its count is unreliable, because it is lost in a crash, is as old as the last ANALYZE, or does
    not exist.
    """

    def label(self, column: str, data_type: str, label: str) -> str | None:
        """The expression for one label in a column of label sets as text, null where it is absent; None if single
        labels of such a column cannot be read.

        `column` is quoted as an identifier, `label` as text.
        """
        return None

    # --- What rules ask -----------------------------------------------------------------------------------------------

    own_guidelines: frozenset[str] = frozenset()
    """IDs of guidelines that matter only for a few engines (`Guideline.elsewhere` says why), including this one."""
    limits: tuple[ServerLimit, ...] = ()
    """Limits that its vendor documents, or its servers report."""
    not_applicable: Mapping[str, str] = {}
    """IDs of guidelines that do not matter for this engine, each with the reason as part of a sentence."""
    indexes_tag_values: bool = True
    """Whether each additional tag value costs memory or space in an index, however little is written."""
    has_costly_series: bool = False
    """Whether each series takes memory as long as any of its points is stored, so that avoidable series are a cost."""
    series_price: str = ""
    """How `series_bytes` was determined, with its source; empty without a price."""
    failures: Mapping[str, Failure] = {}
    """What may fail, by the first word of the names in the fact `server_status`."""
    shrinking: str = ""
    """How a file gives back the space that is free in it; empty if the database is no file."""
    shard_duration_statement: str = ""
    """What sets the shard duration of `{policy}` in `{database}` to `{hours}`; empty without shards."""
    has_shards: bool = False
    """Whether it stores a database in files by time range, each of which takes memory; `database_bytes` counts them."""
    has_costly_measurements: bool = False
    """Whether each measurement takes memory, or open files, so that a family of a thousand is a cost."""
    measurement_bytes: float | None = None
    """Bytes on disk of a measurement with hardly any rows; None if they are negligible."""
    index_bytes: float | None = None
    """Bytes on disk of an index of a measurement with hardly any rows."""
    measurement_price: str = ""
    """What a measurement costs by itself, and how that was determined."""
    packs_integers: bool = False
    """Whether a whole number takes only the bytes that it needs."""
    repeats_texts: bool = False
    """Whether each row stores the whole text, however many other rows have the same text."""
    row_address: str = ""
    """What statements name like a column, and is different in each row of any table; empty if there is nothing."""
    row_bytes: float | None = None
    """Bytes of a row, including its time, but without its values; None if they were not measured, or are negligible."""
    row_price: str = ""
    """How `row_bytes` was determined, with its source."""
    index_entry_bytes: float | None = None
    """Bytes of one row in an index, for an engine that does not report its size; None if not measured."""
    index_price: str = ""
    """How `index_entry_bytes` was determined, with its source."""
    counts_rows_written: bool = True
    """Whether the server counts rows written and removed; otherwise, only their times show that on the first day."""
    divides_by_time: bool = False
    """Whether the engine itself separates rows by time, so that partitioning by time has no further effect."""
    checks_key_types: bool = False
    """Whether the engine itself restricts the types of key columns."""

    def index_bytes_of(self, widths: Sequence[float]) -> float | None:
        """Bytes of one row in an index whose values take so many on average; None if nobody measured it."""
        each = self.index_entry_bytes
        return None if each is None else max(each, sum(widths) + _ENTRY_BYTES)

    def series_bytes(self, measurement: Measurement) -> float | None:
        """Memory of one series of the measurement in bytes, as measured on a server; None if it was not measured."""
        return None

    def tag_cost(self, measurement: Measurement, tag: Tag, days: float, horizon: timedelta) -> Impact | None:
        """The cost of a tag that each row repeats, on engines where series cost nothing; None if it was not measured.

        `days`: the number of days in which its rows were written. `horizon`: how far ahead its growth is evaluated.
        """
        return None

    def misdated_fix(self, found: MisdatedRows, table: str, rows: str) -> str:
        """What to do about rows whose times were written in a wrong unit.

        `table`: the name of their measurement, quoted; empty if others have the name. `rows`: their number in words.
        """
        return (
            "In the writer, convert each number to a time with its own unit. The stored rows can be corrected: "
            f"multiply the time since 1970 of those in January 1970 by {found.factor:,}."
        )

    def writes_again(self, profile: Profile, database: Database, measurement: str) -> bool:
        """Whether a query that the database runs by itself may write points of the measurement several times; of any
        measurement if it is empty.
        """
        return False

    def downsamplings(self, profile: Profile) -> Sequence[Downsampling]:
        """The queries that the server runs by itself, in the databases of the profile."""
        return ()

    def redirection(self, query: Downsampling, policy: str) -> str:
        """How to let the query read another retention policy, in sentences with statements."""
        return ""

    def repetition(self, query: Downsampling, times: str) -> str:
        """The statement that does once what the query does by itself, under a condition on the time."""
        return ""

    def enforces_limits(self, profile: Profile) -> bool | None:
        """Whether the server rejects what exceeds limits whose `is_enforced` is None; None: not reported."""
        return False

    def more_ids(
        self, table: Qualified, column: str, sequence: IdSequence | None, *, is_wide: bool, is_wasted: bool
    ) -> str:
        """What to do when the IDs of a column run out, with its statements. `is_wide`: only the sequence is too small,
        not the column. `is_wasted`: most IDs go to no row.
        """
        return ""

    def names_itself(self, column: str) -> bool:
        """Whether the engine itself chose the name of the column."""
        return False

    def index_unused(self, index: Index, *, on_time: bool) -> str:
        """Why no query uses the index, as part of a sentence; empty if queries may use it. `on_time`: whether its only
        column is the time.
        """
        return ""

    def edition(self, profile: Profile, measurement: Measurement) -> str:
        """The edition whose limits apply to the table, as `ServerLimit.edition` names it."""
        return profile.edition

    def has_given_columns(self, measurement: Measurement) -> bool:
        """Whether the server derived the names of its columns from a protocol, so that nobody chose them."""
        return False

    def has_labels_as_key(self, measurement: Measurement) -> bool:
        """Whether the key consists of all its tags by design."""
        return False

    def keeps_all_rows(self, measurement: Measurement) -> bool:
        """Whether it keeps all rows, including those with the same key and time."""
        return False

    def deduplicates_within_partitions(self, measurement: Measurement) -> bool:
        """Whether rows with the same key and time replace each other only within one partition."""
        return False

    # --- Advice -------------------------------------------------------------------------------------------------------

    adviser: str = "tsaudit.engines.advice:Advice"
    """The class with the steps for changes on this engine, as `module:name`; the default handles no change."""

    def advice(self) -> type[Advice]:
        """The class with the steps for changes on this engine."""
        found: type[Advice] = resolve_name(self.adviser)
        return found

    def problem(self) -> str:
        """Why the declaration is invalid, in one line; empty if it is valid."""
        if not NAME.fullmatch(self.name):
            return f"the name `{self.name}` is not valid; use lower-case letters, digits, `_`, and `-`"
        if type(self).connect is Engine.connect and not self.connector:
            return "it has no method `connect`"
        if missing := [str(folder) for folder in self.sql_folders if not Path(folder).is_dir()]:
            return f"there is no folder {missing[0]}"
        if not all(isinstance(limit, ServerLimit) for limit in self.limits):
            return "its `limits` are not all of them a ServerLimit"
        return ""
