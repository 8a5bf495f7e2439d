"""What an engine declares. The declaration is in its room, `tsaudit/engines/<name>/`; all other code reads it here.

Each trait states one fact, with the reason if it is not obvious. Code outside the rooms never compares names of
engines.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The format of an engine's name."""


class Language(enum.StrEnum):
    """The language of statements, which determines how names and text are quoted."""

    SQL = "sql"
    INFLUXQL = "influxql"
    MONGOSH = "mongosh"


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


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: how to connect to it, its users' terms, and its traits."""

    name: str
    """The value of `engine:` in tsaudit.yaml."""
    connector: str
    """The module that connects: see `tsaudit.engines.connection.Connector`."""
    example_url: str
    """`{name}` stands for the name of the database."""
    measuring: str = ""
    """The module whose `MEASURING` measures its measurements: a subclass of `tsaudit.collect.measuring.Measuring`.
    Empty: as tables with columns.
    """
    advice: str = ""
    """The module whose `ADVICE` says how changes are made: a subclass of `tsaudit.engines.advice.Advice`. Empty: that
    of the engine it `speaks`, or no plans at all.
    """
    statements: Statements = field(default_factory=Statements)
    """How its statements, and settings of writers, name what they make and remove."""
    extra: str | None = None
    """The extra that installs its driver; None if the core includes it."""
    language: Language = Language.SQL
    words: Words = field(default_factory=Words)
    keywords: tuple[str | Path, ...] = ()
    """Files with the reserved words of its users' languages, one per line: relative to `tsaudit/engines/`, or with
    their full path.
    """
    labels: str = ""
    """The module that reads single labels out of columns of label sets: see `tsaudit.engines.labels`. Empty: they
    cannot be read.
    """
    tables: str = ""
    """The module that interprets options of its tables: see `tsaudit.engines.tables`. Empty: they are not
    interpreted.
    """
    speaks: str = ""
    """The tsaudit engine whose statements it also accepts, for suggestions; empty for none."""
    sql_folders: tuple[Path, ...] = ()
    """Folders with its query files; the first one that has a file for a fact is used. Empty for `sql/<name>` of
    tsaudit.
    """
    icon: str = ""
    """The name of its product in asset catalogs; empty for `name`."""

    # Detection and login.
    file_magic: tuple[int, bytes] | None = None
    """The signature of its files: position and bytes, whatever the file names; None if it does not use files."""
    local: LocalServer | None = None
    """How to recognize a server on this machine; None if that is not possible."""
    signs_in_by_token: bool = False
    """If an address has no password, a token is required."""
    reads_password_apart: bool = False
    """An address with only a user uses the separate `password:`."""

    # Databases and schemas.
    default_schema: str | None = None
    """If its databases are schemas: the one in which every session finds unqualified names, empty for none. None: its
    databases are not schemas, and names need no qualification.
    """
    is_a_file: bool = False
    """Its address is `scheme:///path`; a relative path is relative to the folder of tsaudit.yaml."""
    has_one_database: bool = False
    """The address contains the database, and `databases:` lists schemas within it."""

    # Tags and columns.
    has_series_index: bool = False
    """An index lists tags, fields, and tag sets as long as any of their points is stored."""
    infers_roles: bool = False
    """Tables do not declare which columns are the time and the tags: tsaudit infers them, and may be wrong."""
    enforces_types: bool = True
    """A column holds only values of its type."""
    indexes_tag_values: bool = True
    """Each further tag value costs memory or a place in an index, however little is written."""
    divides_by_time: bool = False
    """It separates rows by time itself, so partitioning by time has no further effect."""
    judges_key_types: bool = False
    """It has its own rules about the types of key columns."""
    several_columns_unused: str = ""
    """Why queries cannot use an index on several columns: part of a sentence; empty if they can."""
    times_found_by: str = ""
    """How rows are found by time if the time column has no index: part of a sentence; empty: not at all."""
    keeps_documents: bool = False
    """It stores documents, which may have any fields: tsaudit only knows those in the documents it read."""

    id_field: str = ""
    """The field that identifies a document in its collection: always present, always indexed; empty for none."""
    own_prefixes: tuple[str, ...] = ()
    """Prefixes of column names that the engine itself assigns."""

    # Statements.
    describes_singly: bool = False
    """Each table is described by a separate statement, which may be denied for some tables."""
    takes_line_protocol: bool = False

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Query parameters that its connector adds to those of the facts (`facts.given`): name to meaning."""

    # Guidelines: those common to all engines matter unless this says otherwise.
    own_guidelines: frozenset[str] = frozenset()
    """IDs of guidelines for few engines (`Guideline.elsewhere` says why) that matter here, too."""
    moot: Mapping[str, str] = field(default_factory=dict)
    """IDs of guidelines that do not matter here, each with the reason: part of a sentence."""

    # Figures.
    asked_in_pieces: Mapping[str, int] = field(default_factory=dict)
    """Fact to the number of measurements per statement, one statement after the other; for other facts, one statement
    covers all.
    """
    asked_together: frozenset[str] = frozenset()
    """Facts about one measurement for which one statement may cover several of a database: its connection is a
    `connection.AsksTogether`.
    """
    total_falls_short: float | None = None
    """By what share the engine's count of all rows may be lower than the number of readable rows, because of rows that
    arrived since. None: its count proves nothing, because it is lost in a crash, is as old as the last ANALYZE, or does
    not exist.
    """
    counts_writes: bool = False
    """A measurement's fingerprint shows every write: if it is unchanged, no row was written."""

    successor: str = ""
    """The product that its vendor recommends instead; empty for none."""

    # Added by tsaudit if the engine comes from another package.
    package: str = ""
    """The distribution that provides it, and its version; empty for tsaudit itself."""
    broken: str = ""
    """Why it cannot be used, in one line: its package could not be loaded. Empty for a usable engine."""

    def problem(self) -> str:
        """Why the declaration is invalid, in one line; empty if it is valid."""
        if not NAME.fullmatch(self.name):
            return f"the name `{self.name}` is not valid; use lower-case letters, digits, `_`, and `-`"
        if not self.connector:
            return "it names no `connector` module"
        if missing := [str(folder) for folder in self.sql_folders if not Path(folder).is_dir()]:
            return f"there is no folder {missing[0]}"
        return self.statements.problem()
