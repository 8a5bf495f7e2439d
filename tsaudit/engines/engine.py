"""What an engine is: the base class whose methods and traits its package overrides.

An engine's package, `tsaudit/engines/<name>/`, or that of another distribution, holds all that is its own; all other
code asks here. Code outside the packages never compares names of engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tsaudit.engines.language import Language, Qualified

if TYPE_CHECKING:
    from tsaudit.engines.advice import Advice
    from tsaudit.engines.connection import Connection
    from tsaudit.model.impact import Impact
    from tsaudit.model.profile import Index, Measurement, Profile, Tag

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The format of an engine's name."""


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
    """Other effects of turning a tag into a field: lines for a terminal."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """How to recognize a server with default settings on this machine: by its response over HTTP."""

    port: int
    path: str
    """The path to request."""
    answers: re.Pattern[str]
    """What the response must contain."""
    url: str
    """Its address as a target."""
    header: str = ""
    """The header of the response to check; empty: its body."""
    is_native: bool = False
    """It does not answer over HTTP: `answers` is what `net.port_probe.what_listens` must say; `path` is not used."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What it means that a mechanism of the server fails."""

    words: str
    """What happens, as a sentence without its full stop; `{name}` is what `server_status` calls the mechanism."""
    fix: str
    rejects_writes: bool = False
    """As long as it fails."""


@dataclass(frozen=True, slots=True)
class ServerLimit:
    """How many of something a server allows, or its vendor advises."""

    name: str
    """As in tsaudit.yaml, `<rule>.<limit>`: the rule says what is counted, for most of them `near-limit`."""
    value: float | None
    """None: only the server says it."""
    source: str
    """The vendor's page."""
    edition: str = ""
    """The product or format that has it, as `Engine.edition` names it; empty for all."""
    plan: str = ""
    """What targets write under `plan:` to have it; empty for all targets."""
    setting: str = ""
    """What the fact `server_status` calls the server's own number, which counts before this one; 0 is no limit."""
    is_enforced: bool | None = True
    """Whether the server rejects what goes beyond; False for advice. None: see `Engine.enforces_limits`."""
    fix: str = ""
    """What to do where it is near, in whole sentences; empty for what helps on all engines."""


NAME_IN_FORM: Final = "<name>"
"""Stands for the name of a measurement in the forms of `Statements`."""


@dataclass(frozen=True, slots=True)
class Statements:
    """How to see, in the text of a plan's step, which measurement it makes or removes.

    Regular expressions in which `<name>` stands for the name; upper and lower case are the same. What plans make is no
    schema drift. `CREATE TABLE`, `DROP TABLE`, and `RENAME TO` of SQL are known without them.
    """

    make: tuple[str, ...] = ()
    """A measurement that was not there, or another name for one."""
    remove: tuple[str, ...] = ()
    """A measurement that is gone, or has another name."""

    def problem(self) -> str:
        """Why one of them is invalid, in one line; empty if all are valid."""
        for form in (*self.make, *self.remove):
            try:
                re.compile(form.replace(NAME_IN_FORM, "x"))
            except re.error as error:
                return f"`{form}` in `statements` is not a regular expression: {error}"
            if NAME_IN_FORM not in form:
                return f"`{form}` in `statements` does not contain {NAME_IN_FORM}"
        return ""


class Engine:
    """An engine. A subclass sets `name` and `example_url`, says how to `connect`, and overrides what differs.

    Methods import what they need, so that listing the engines needs no driver.
    """

    name: str = ""
    """The value of `engine:` in tsaudit.yaml."""
    example_url: str = ""
    """`{name}` stands for the name of the database."""
    other_names: tuple[str, ...] = ()
    """What others call it, and write for the scheme of its addresses."""
    extra: str | None = None
    """The extra that installs its driver; None if the core includes it."""
    icon: str = ""
    """The name of its product in asset catalogs; empty for `name`."""
    successor: str = ""
    """The product that its vendor recommends instead; empty for none."""

    # Added by tsaudit if the engine comes from another package.
    package: str = ""
    """The distribution that provides it, and its version; empty for tsaudit itself."""
    broken: str = ""
    """Why it cannot be used, in one line: its package could not be loaded. Empty for a usable engine."""

    # --- Connecting ---------------------------------------------------------------------------------------------------

    def connect(
        self, url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
    ) -> AbstractContextManager[Connection]:
        """Open a connection. `options`: `engine`, `databases`, `connect_timeout_s`.

        Raises ConnectorError, and ModuleNotFoundError without the driver.
        """
        raise NotImplementedError

    def spelled(self, url: str) -> str:
        """The address with the engine's own scheme in place of one that others write."""
        scheme, separator, rest = url.partition("://")
        return f"{self.example_url.partition('://')[0]}://{rest}" if separator and scheme in self.other_names else url

    file_magic: tuple[int, bytes] | None = None
    """The signature of its files: position and bytes, whatever the file names; None if it uses no files, or nothing is
    known of how they begin.
    """
    local: LocalServer | None = None
    """How to recognize a server on this machine; None if that is not possible."""
    signs_in_by_token: bool = False
    """If an address has no password, a token is required."""
    reads_password_apart: bool = False
    """An address with only a user uses the separate `password:`."""
    keeps_login_apart: bool = False
    """Its address has no login: it takes `username:` and `password:`."""
    default_schema: str | None = None
    """If its databases are schemas: the one in which every session finds unqualified names, empty for none. None: its
    databases are not schemas, and names need no qualification.
    """
    is_a_file: bool = False
    """Its address is `scheme:///path`; a relative path is relative to the folder of tsaudit.yaml."""
    has_one_database: bool = False
    """The address contains the database, and `databases:` lists schemas within it."""

    def has_magic(self, head: bytes) -> bool:
        """Whether a file with these first bytes has the signature of its files."""
        position, magic = self.file_magic or (0, b"")
        return bool(magic) and head[position:].startswith(magic)

    # --- Language -----------------------------------------------------------------------------------------------------

    language: Language = Language.SQL
    words: Words = Words()
    keywords: tuple[str | Path, ...] = ()
    """Files with the reserved words of its users' languages, one per line: relative to `tsaudit/engines/`, or with
    their full path.
    """
    takes_line_protocol: bool = False
    sql_types: Mapping[str, str] = {
        "integer": "BIGINT",
        "float": "DOUBLE",
        "boolean": "BOOLEAN",
        "time": "TIMESTAMP",
    }
    """The types of columns of integers, floats, booleans, and times."""

    def quoted(self, name: str | Qualified) -> str:
        """`name` as an identifier, with its schema if it would not be found without."""
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
    """The module whose `MEASURING` measures its measurements: a subclass of `tsaudit.collect.measuring.Measuring`.
    Empty: as tables with columns.
    """
    has_series_index: bool = False
    """An index lists tags, fields, and tag sets as long as any of their points is stored."""
    sql_folders: tuple[Path, ...] = ()
    """Folders with its query files; the first one that has a file for a fact is used. Empty for `sql/<name>` of
    tsaudit.
    """
    parameters: Mapping[str, str] = {}
    """Query parameters that its connector adds to those of the facts (`facts.given`): name to meaning."""
    infers_roles: bool = False
    """Tables do not declare which columns are the time and the tags: tsaudit infers them, and may be wrong."""
    enforces_types: bool = True
    """A column holds only values of its type."""
    keeps_documents: bool = False
    """It stores documents, which may have any fields: tsaudit only knows those in the documents it read."""
    describes_singly: bool = False
    """Each table is described by a separate statement, which may be denied for some tables."""
    has_rights_by_table: bool = False
    """Users may read some tables of a database and not others, which only reading them shows."""
    measurements_per_statement: Mapping[str, int] = {}
    """Fact to the number of measurements per statement, one statement after the other; for other facts, one statement
    covers all.
    """
    batched_facts: frozenset[str] = frozenset()
    """Facts about one measurement for which one statement may cover several of a database: its connection is a
    `connection.QueriesBatches`.
    """
    total_falls_short: float | None = None
    """By what share the engine's count of all rows may be lower than the number of readable rows, because of rows that
    arrived since. None: its count proves nothing, because it is lost in a crash, is as old as the last ANALYZE, or does
    not exist.
    """
    counts_writes: bool = False
    """A measurement's fingerprint shows every write: if it is unchanged, no row was written."""

    def label(self, column: str, data_type: str, label: str) -> str | None:  # noqa: ARG002 -- for subclasses
        """The expression for one label in a column of label sets as text, null where it is absent; None if single
        labels of such a column cannot be read.

        `column` is quoted as an identifier, `label` as text.
        """
        return None

    # --- What rules ask -----------------------------------------------------------------------------------------------

    own_guidelines: frozenset[str] = frozenset()
    """IDs of guidelines for few engines (`Guideline.elsewhere` says why) that matter here, too."""
    limits: tuple[ServerLimit, ...] = ()
    """Those that its vendor documents, or its servers report."""
    not_applicable: Mapping[str, str] = {}
    """IDs of guidelines that do not matter here, each with the reason: part of a sentence."""
    indexes_tag_values: bool = True
    """Each further tag value costs memory or a place in an index, however little is written."""
    has_costly_series: bool = False
    """Each series takes memory for as long as any of its points is stored, so that avoidable ones are a cost."""
    series_price: str = ""
    """What `series_bytes` rests on, with its source; empty without a price."""
    failures: Mapping[str, Failure] = {}
    """What may fail, by the first word of the names that its fact `server_status` reports."""
    has_shards: bool = False
    """Whether it keeps a database in files by time, each of which takes memory: a fact `database_bytes` counts them."""
    has_costly_measurements: bool = False
    """Each measurement takes memory, or open files, so that a family of a thousand is a cost."""
    measurement_bytes: float | None = None
    """Bytes on disk of a measurement with hardly any rows; None if it takes none worth counting."""
    index_bytes: float | None = None
    """Bytes on disk of an index of such a measurement."""
    measurement_price: str = ""
    """What a measurement costs by itself, and what that rests on."""
    repeats_texts: bool = False
    """Each row stores the whole text, however many others have the same."""
    row_bytes: float | None = None
    """Bytes of a row beside its values, with a time; None if nobody measured them, or they are next to nothing."""
    row_price: str = ""
    """What that rests on, with its source."""
    index_entry_bytes: float | None = None
    """Bytes of one row in an index, for an engine that does not report the size of an index; None if nobody measured
    it.
    """
    index_price: str = ""
    """What that rests on, with its source."""
    divides_by_time: bool = False
    """It separates rows by time itself, so partitioning by time has no further effect."""
    checks_key_types: bool = False
    """It has its own rules about the types of key columns."""

    def series_bytes(self, measurement: Measurement) -> float | None:  # noqa: ARG002 -- for subclasses
        """Memory of one series of the measurement, as measured on a server; None if nobody measured it."""
        return None

    def tag_cost(
        self,
        measurement: Measurement,  # noqa: ARG002 -- for subclasses
        tag: Tag,  # noqa: ARG002
        days: float,  # noqa: ARG002
        horizon: timedelta,  # noqa: ARG002
    ) -> Impact | None:
        """What a tag costs that each row repeats, where series cost nothing; None if nobody measured it.

        `days`: in which its rows were written; `horizon`: how far ahead it is judged.
        """
        return None

    def enforces_limits(self, profile: Profile) -> bool | None:  # noqa: ARG002 -- for subclasses
        """Whether the server rejects what goes beyond the limits that leave it open; None: it does not tell."""
        return False

    def names_itself(self, column: str) -> bool:  # noqa: ARG002 -- for subclasses
        """Whether the engine itself gave the column its name."""
        return False

    def index_unused(self, index: Index, *, on_time: bool) -> str:  # noqa: ARG002 -- for subclasses
        """Why no query uses the index: part of a sentence; empty if queries may. `on_time`: its only column is the
        time.
        """
        return ""

    def edition(self, profile: Profile, measurement: Measurement) -> str:  # noqa: ARG002 -- for subclasses
        """Which of the engine's limits hold for the table, as `ServerLimit.edition` names them."""
        return profile.edition

    def has_given_columns(self, measurement: Measurement) -> bool:  # noqa: ARG002 -- for subclasses
        """Whether the server made its columns out of a protocol's names, so that nobody chose them."""
        return False

    def has_labels_as_key(self, measurement: Measurement) -> bool:  # noqa: ARG002 -- for subclasses
        """Whether all its tags are the key by design."""
        return False

    def keeps_all_rows(self, measurement: Measurement) -> bool:  # noqa: ARG002 -- for subclasses
        """Whether it keeps all rows, also those of the same key and time."""
        return False

    def deduplicates_within_partitions(self, measurement: Measurement) -> bool:  # noqa: ARG002 -- for subclasses
        """Whether rows of one key and time replace each other only if they are of one partition."""
        return False

    # --- Advice -------------------------------------------------------------------------------------------------------

    statements: Statements = Statements()
    """How its statements, and settings of writers, name what they make and remove."""

    def advice(self) -> type[Advice]:
        """How its users make the changes of a plan; `Advice` itself handles no change."""
        from tsaudit.engines.advice import Advice

        return Advice

    def problem(self) -> str:
        """Why the declaration is invalid, in one line; empty if it is valid."""
        if not NAME.fullmatch(self.name):
            return f"the name `{self.name}` is not valid; use lower-case letters, digits, `_`, and `-`"
        if type(self).connect is Engine.connect:
            return "it has no method `connect`"
        if missing := [str(folder) for folder in self.sql_folders if not Path(folder).is_dir()]:
            return f"there is no folder {missing[0]}"
        if not all(isinstance(limit, ServerLimit) for limit in self.limits):
            return "its `limits` are not all of them a ServerLimit"
        return self.statements.problem()
