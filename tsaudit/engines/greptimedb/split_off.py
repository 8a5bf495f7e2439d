"""Columns of a GreptimeDB table that move to one of their own, with its key and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tsaudit.engines.greptimedb.rebuild import A_DAY, within
from tsaudit.engines.greptimedb.statements import CLAUSES, options_clause
from tsaudit.engines.greptimedb.tables import indexes_on, primary_key
from tsaudit.engines.rendering import Place
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


def moved_out(
    place: Place, changes: Sequence[SplitMeasurement], names: Mapping[str, str], table: str
) -> Iterator[Step]:
    """A table for each group of columns; the columns go last. `names`, `table`: what they are called by then."""
    here, own = place.here, {f.key: f.types[0] for f in place.here.fields}
    for change in changes:
        columns = [column for column in change.columns if column in own]
        if not columns or here.time_column is None:
            continue
        name, key = place.free(change.name), primary_key(here)
        types = {t.key: t.data_type for t in here.tags} | own
        lines = [f"{place.quoted([here.time_column])} {(here.time_type or 'timestamp(3)').upper()} NOT NULL"]
        for column in (*key, *columns):
            clauses = [CLAUSES[kind] for kind in sorted(indexes_on(here, column))]
            lines.append(" ".join([place.quoted([column]), types.get(column, "string").upper(), *clauses]))
        lines.append(f"TIME INDEX ({place.quoted([here.time_column])})")
        lines += [f"PRIMARY KEY ({place.quoted(key)})"] if key else []
        body = ",\n".join(f"  {line}" for line in lines)
        kept, group = listed([*key, here.time_column], 20), listed(columns, 20)
        yield Step(Phase.WRITE, f"Write {group} of {here.name} to {name}, with {kept}.")
        yield Step(
            Phase.PREPARE,
            f"Create a table for {group}.",
            f"CREATE TABLE {place.table(name)} (\n{body}\n){options_clause(here, {})};",
            "sql",
        )
        listing = place.quoted([here.time_column, *key, *columns])
        filled = " OR ".join(f"{place.quoted([c])} IS NOT NULL" for c in columns)
        where = f"({filled}) AND {within(place, here.time_column)}"
        yield Step(
            Phase.COPY,
            "Copy them one day at a time, the newest day first.",
            f"INSERT INTO {place.table(name)} ({listing}) SELECT {listing} FROM {place.table()} WHERE {where};",  # noqa: S608
            "sql",
            cost="reads all rows",
            repeat_every=A_DAY,
        )
        yield Step(
            Phase.CHECK,
            "Compare the counts of each day: they must be equal.",
            f"SELECT count(*) FROM {place.table()} WHERE {where};\n"  # noqa: S608 -- shown, never run
            f"SELECT count(*) FROM {place.table(name)} WHERE {within(place, here.time_column)};",
            "sql",
            repeat_every=A_DAY,
        )
        dropped = (f"ALTER TABLE {place.table(table)} DROP COLUMN {place.quoted([names.get(c, c)])};" for c in columns)
        yield Step(
            Phase.REMOVE,
            f"Drop {group} from {table} once the counts are equal and nothing reads them there.",
            "\n".join(dropped),
            "sql",
            can_undo=False,
            loses=f"{group} in {table}, all values of which {name} then holds",
        )
