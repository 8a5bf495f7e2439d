"""What depends on a DuckDB table, and the statements that take it aside and make it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place

_QUERY: Final = """\
WITH RECURSIVE found AS (
  SELECT schema_name, view_name, sql, 1 AS depth
  FROM duckdb_views() WHERE NOT internal AND contains(lower(sql), lower({name}))
  UNION
  SELECT v.schema_name, v.view_name, v.sql, found.depth + 1 FROM duckdb_views() AS v
  JOIN found ON contains(lower(v.sql), lower(found.view_name)) AND v.view_name <> found.view_name
  WHERE NOT v.internal AND found.depth < 20
),
views AS (SELECT schema_name, view_name, sql, max(depth) AS depth FROM found GROUP BY ALL ORDER BY depth DESC)
SELECT
  'view ' || view_name AS what,
  format('DROP VIEW "{{}}"."{{}}";', replace(schema_name, '"', '""'), replace(view_name, '"', '""')) AS before,
  sql AS afterward
FROM views
UNION ALL
SELECT 'foreign key of ' || table_name
  || ', which keeps DuckDB from renaming and dropping columns: copy that table into '
  || 'one without it first: ' || constraint_text, NULL, NULL
FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND contains(lower(constraint_text), lower({name}))
UNION ALL
SELECT column_name || ', which the new column lacks: default ' || column_default, NULL, NULL
FROM duckdb_columns()
WHERE schema_name = {schema} AND table_name = {name} AND column_name IN ({columns}) AND column_default IS NOT NULL
UNION ALL
SELECT 'constraint, which the new column lacks: ' || constraint_text, NULL, NULL
FROM duckdb_constraints()
WHERE schema_name = {schema} AND table_name = {name} AND constraint_type IN ('CHECK', 'NOT NULL')
  AND list_has_any(constraint_column_names, [{columns}]);"""


def dependents(place: Place, columns: Sequence[str]) -> str:
    """A query for what depends on the table or is a property of the columns; its columns are `what`, `before`, which
    takes a thing aside, and `afterward`, which makes it again."""
    engine = place.profile.engine
    listed = ", ".join(quote_text(engine, column) for column in columns)
    name, schema = quote_text(engine, place.here.name), quote_text(engine, place.database)
    return _QUERY.format(name=name, schema=schema, columns=listed)
