"""What an engine declares of itself. Its room, `tsaudit/engines/<name>/`, has the object; the rest reads it here.

A trait says one plain fact, with the reason where it is not plain. Nothing outside the rooms compares names of engines.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""How the name of an engine is written."""


class Language(enum.StrEnum):
    """What statements are written in; how names and text are quoted follows from it."""

    SQL = "sql"
    INFLUXQL = "influxql"
    MONGOSH = "mongosh"


class Ladder(enum.StrEnum):
    """How measurements are measured: which facts are asked for, in which order, and what each decides of the next."""

    COLUMNS = "columns"
    """Tables whose columns the catalogue lists. Their roles are read there, or inferred from names, types and some rows
    (`Engine.infers_roles`); then the tag sets of the rows within the window are listed, nulls counted, and the newest
    rows read. What SQL databases take."""
    TAG_LISTING = "tag listing"
    """An index knows tags, fields and every tag set. The tag sets are listed from it; then the newest rows are read, of
    some series where there are many, since each series is read on its own. Needs `tag_keys` and `field_types`."""
    MEASURE_NAMES = "measure names"
    """Tables whose rows are of several measure names, and whose catalogue says what columns are for. One scan counts
    by measure name and decides whether the tag sets are listed and how many rows are read: reading costs money."""
    DOCUMENTS = "documents"
    """Collections without a schema: what there is, is known from documents chosen at random. Of collections whose names
    differ in a period or number alone, some stand for the others."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the engine's users call things, in the singular."""

    database: str = "database"
    measurement: str = "table"
    tag: str = "tag"
    retention: str = "policy"
    """What says how long data is kept."""
    series: str = (
        "One distinct combination of the values of the columns that identify the source of a row (the tags). "
        "Which columns those are, a SQL database does not say: tsaudit infers it, or reads it from `columns` in "
        "tsaudit.yaml."
    )
    """What a series is here: whole sentences."""
    as_field: str = (
        "A field is not indexed: queries that filter or group by it read all rows, and a point keeps only the\n"
        "last value of those with the same tags and time."
    )
    """What else it means to make a tag a field: lines for a terminal."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What connects to an engine, what its users call things, and what is true of it."""

    name: str
    """As `engine:` in tsaudit.yaml has it."""
    connector: str
    """The module that connects: see `tsaudit.engines.connection.Connector`."""
    example_url: str
    """`{name}` stands for the database's name."""
    ladder: Ladder = Ladder.COLUMNS
    """How its measurements are measured."""
    changes: str = ""
    """The module that says changes in its languages: see `tsaudit.engines.rendering`. Empty: words have to do."""
    extra: str | None = None
    """What installs its driver; None where the core brings it."""
    language: Language = Language.SQL
    words: Words = field(default_factory=Words)
    keywords: tuple[str | Path, ...] = ()
    """Files with the words that the languages of its users reserve, a line each: below `tsaudit/engines/`, or
    anywhere by their whole path."""
    speaks: str = ""
    """The engine of tsaudit's whose statements it takes as well, for what is proposed; empty for none."""
    sql_folders: tuple[Path, ...] = ()
    """Folders with its query files, the first that has one for a fact goes first; empty for `sql/<name>` of tsaudit."""
    icon: str = ""
    """The name under which asset catalogues know its product; empty for `name`."""

    # How one signs in.
    signs_in_by_token: bool = False
    """Where an address has no password, a token is meant."""
    reads_password_apart: bool = False
    """An address with a user alone takes `password:` from beside it."""

    # Databases and schemas.
    default_schema: str | None = None
    """Where its databases are schemas: the one in which every session finds names that stand alone, empty for none.

    None: its databases are no schemas, and a name stands alone.
    """
    is_a_file: bool = False
    """Its address is `scheme:///path`, where a relative path counts from the folder of tsaudit.yaml."""
    has_one_database: bool = False
    """The address names the database, and `databases:` are schemas within it."""

    # Tags and columns.
    infers_roles: bool = False
    """A table does not say which of its columns are the time and the tags: tsaudit works it out, and may be wrong."""
    enforces_types: bool = True
    """A column holds only values of its type."""
    indexes_tag_values: bool = True
    """Each further tag value costs memory or a place in an index, however little is written."""
    overwrites: bool = False
    """A row with the tags and the time of another one replaces it, unless a table is told to keep both."""
    keeps_documents: bool = False
    """It keeps documents, which may have any fields: what there is, is known from those that were read."""

    id_field: str = ""
    """What names a document in its collection: always there, always indexed; empty for none."""
    own_prefixes: tuple[str, ...] = ()
    """How the names begin that the engine itself gives to columns."""

    # Statements.
    can_change: bool = True
    """Statements make, rename and change things; elsewhere they only read."""
    is_metered: bool = False
    """What a statement reads is paid for: what is proposed here reads a day."""
    describes_singly: bool = False
    """Each table is described by a statement of its own, which may be refused for some of them."""
    takes_line_protocol: bool = False

    parameters: Mapping[str, str] = field(default_factory=dict)
    """What its connector gives to query files beside what their facts offer (`facts.given`): name to meaning."""

    # Guidelines: those that all engines have in common matter unless it says otherwise.
    own_guidelines: frozenset[str] = frozenset()
    """Ids of guidelines for few engines (`Guideline.elsewhere` says why) that matter here, too."""
    moot: Mapping[str, str] = field(default_factory=dict)
    """Ids of guidelines that do not matter here, each with the reason: part of a sentence."""

    # Figures.
    asked_in_pieces: Mapping[str, int] = field(default_factory=dict)
    """Fact to the measurements that one statement looks at, one after the other; the others are asked about at once."""
    total_falls_short: float | None = None
    """By what share the engine's count of all rows may fall short of those that can be read, which arrived since.

    None: its count proves nothing, as it forgets in a crash, is as old as the last ANALYZE, or is none.
    """
    counts_writes: bool = False
    """A measurement's fingerprint shows every write: where it stands still, no row was written."""

    successor: str = ""
    """The product that its vendor moves people to; empty for none."""

    # What tsaudit adds where another package brings the engine.
    package: str = ""
    """The distribution that brings it, and its version; empty for tsaudit itself."""
    broken: str = ""
    """Why it cannot be used, in one line: its package could not be loaded. Empty for a usable one."""

    def problem(self) -> str:
        """What keeps the declaration from being used, in one line; empty where it is sound."""
        if not NAME.fullmatch(self.name):
            return f"the name `{self.name}` is none; use small letters, digits, `_` and `-`"
        if not self.connector:
            return "it names no `connector` module"
        if missing := [str(folder) for folder in self.sql_folders if not Path(folder).is_dir()]:
            return f"there is no folder {missing[0]}"
        return ""
