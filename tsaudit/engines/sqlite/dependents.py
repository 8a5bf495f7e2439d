"""What depends on a SQLite table, and the statements that take it aside and make it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place

_QUERY: Final = """\
WITH RECURSIVE found AS (
  SELECT type, name, sql, 1 AS depth
  FROM sqlite_master WHERE type IN ('view', 'trigger') AND instr(lower(sql), lower({name})) > 0
  UNION
  SELECT m.type, m.name, m.sql, found.depth + 1 FROM sqlite_master AS m
  JOIN found ON instr(lower(m.sql), lower(found.name)) > 0 AND m.name <> found.name
  WHERE m.type IN ('view', 'trigger') AND found.type = 'view' AND found.depth < 20
),
views AS (SELECT type, name, sql, max(depth) AS depth FROM found GROUP BY 1, 2, 3 ORDER BY 4 DESC)
SELECT type || ' ' || name AS what, 'DROP ' || upper(type) || ' "' || replace(name, '"', '""') || '";' AS before,
  sql || ';' AS afterward
FROM views
UNION ALL
SELECT 'foreign key of ' || m.name || ' onto ' || coalesce(f."to", 'its key'), NULL, NULL
FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f
WHERE m.type = 'table' AND lower(f."table") = lower({name})
UNION ALL
SELECT 'column ' || name || ', whose default, NOT NULL and checks a new column lacks, see: '
  || (SELECT sql FROM sqlite_master WHERE type = 'table' AND name = {name}), NULL, NULL
FROM pragma_table_xinfo({name}) WHERE name IN ({columns}) AND ("notnull" = 1 OR dflt_value IS NOT NULL OR hidden > 0)
UNION ALL
SELECT 'column ' || name || ', which is computed: leave its expression out of the table first if it names one of the '
  || 'columns', NULL, NULL
FROM pragma_table_xinfo({name}) WHERE hidden IN (2, 3);"""


def dependents(place: Place, columns: Sequence[str]) -> str:
    """A query for what depends on the table or is a property of the columns; its columns are `what`, `before`, which
    takes a thing aside, and `afterward`, which makes it again."""
    engine = place.profile.engine
    listed = ", ".join(quote_text(engine, column) for column in columns)
    return _QUERY.format(name=quote_text(engine, place.here.name), columns=listed)
