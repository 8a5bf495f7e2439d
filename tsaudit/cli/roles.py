"""How tsaudit reads the tables of a target, and which roles of columns it had to guess: YAML to confirm and paste."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Final

from tsaudit.cli import screen
from tsaudit.text import listed, many, printable

if TYPE_CHECKING:
    from tsaudit.collect import Probed
    from tsaudit.config.settings import Target
    from tsaudit.engines.connection import Connection
    from tsaudit.model.profile import Measurement, Profile
    from tsaudit.net.watchdog import Deadline

MOST_TABLES: Final = 50
"""Most tables of one target whose kind and columns are shown."""
_MOST_OF_COMMENT: Final = 300
"""Maximum number of characters in the comment after the roles of a table."""


@dataclass(frozen=True, slots=True)
class GuessedRoles:
    """The roles that somebody who knows the tables has to confirm."""

    entries: tuple[str, ...]
    """Entries below the target's `columns:`: one line for each table, with a comment about what is in doubt."""
    roles: int
    tables: int
    """Those with such roles."""
    others: int
    """Number of tables of which no row was read."""

    def __str__(self) -> str:
        """`3 roles guessed in 2 tables`."""
        more = f"; {many(self.others, 'more table')} empty or not read" if self.others else ""
        return f"{many(self.roles, 'role')} guessed in {many(len(self.entries), 'table')}{more}"


def probed(target: Target, before: Profile | None = None) -> Probed:
    """What exists on the target. Raises ConnectorError if it cannot be reached. `before`: its newest profile."""
    from tsaudit.collect import probe
    from tsaudit.engines.opening import with_connection

    def look(connection: Connection, end: Deadline) -> Probed:
        return probe(target, connection, deadline=end, most_tables=MOST_TABLES, previous=before)

    with screen.progress() as watched:
        watched.say(target.name, f"looking at what can be measured on {target.engine}")
        return with_connection(target, look)


def guessed(found: Probed) -> GuessedRoles:
    """The tables whose tags or kind were guessed. Tables of which no row was read are left out, because nothing is
    known to confirm.
    """
    read = [(table, _guessed_tags(table)) for table in found.tables if table.kind is not None]
    asked = [(table, tags) for table, tags in read if _is_unclassified(table) or tags]
    roles = sum(len(tags) for _, tags in read)
    tables = sum(bool(tags) for _, tags in read)
    return GuessedRoles(tuple(starmap(_entry, asked)), roles, tables, found.others + len(found.tables) - len(read))


def _entry(table: Measurement, tags: list[str]) -> str:
    from tsaudit.model.profile import CLASSIFIED
    from tsaudit.text.table_roles import override

    kinds = listed(sorted(CLASSIFIED), len(CLASSIFIED), last="or")
    doubt = f"guessed: {', '.join(tags)}" if tags else f"what are its rows? set `kind` to {kinds}"
    return f"{override(table)}  # {printable(doubt, _MOST_OF_COMMENT)}"


def _is_unclassified(table: Measurement) -> bool:
    """Whether the rows do not show their kind, and the configuration does not set it."""
    from tsaudit.analysis.columns.roles import CONFIGURED
    from tsaudit.model.profile import CLASSIFIED

    return table.kind not in CLASSIFIED and table.kind_reason != CONFIGURED


def _guessed_tags(table: Measurement) -> list[str]:
    """The tags of the table that neither the database nor the configuration declares."""
    from tsaudit.text.table_roles import is_guess

    return [tag.key for tag in table.tags if is_guess(tag.role_reason)]
