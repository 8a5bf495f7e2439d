"""What depends on columns of a PostgreSQL table, by its own catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tsaudit.engines.place import Place
from tsaudit.engines.quoting import quote_text

_QUERY: Final = """\
SELECT DISTINCT r.ev_class::regclass AS view, a.attname AS uses
FROM pg_depend AS d
JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass
  AND d.refobjid = {table}::regclass AND a.attname IN ({columns})
ORDER BY 1, 2;"""


def dependents(place: Place, columns: Sequence[str]) -> str:
    """A query for the views, materialized ones included, that use the columns themselves."""
    engine = place.profile.engine
    listed = ", ".join(quote_text(engine, column) for column in columns)
    return _QUERY.format(table=quote_text(engine, place.table()), columns=listed)
