"""What depends on columns of a PostgreSQL table, and the statements that take it aside and make it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place

_QUERY: Final = """\
WITH RECURSIVE own AS (
  SELECT c.* FROM pg_attribute AS c WHERE c.attrelid = {table} AND c.attname IN ({columns})
),
parts AS (
  SELECT attrelid, attnum FROM own
  UNION
  SELECT c.attrelid, c.attnum FROM pg_attribute AS c JOIN pg_partition_tree({table}) AS t ON t.relid = c.attrelid
  WHERE c.attname IN ({columns})
),
used AS (
  SELECT DISTINCT d.classid, d.objid, d.objsubid FROM parts JOIN pg_depend AS d
  ON d.refclassid = 'pg_class'::regclass AND d.refobjid = parts.attrelid AND d.refobjsubid = parts.attnum
),
views AS (
  SELECT r.ev_class AS oid, 1 AS depth FROM used JOIN pg_rewrite AS r
  ON used.classid = 'pg_rewrite'::regclass AND r.oid = used.objid
  UNION
  SELECT r.ev_class, views.depth + 1 FROM views JOIN pg_depend AS d
  ON d.refclassid = 'pg_class'::regclass AND d.refobjid = views.oid JOIN pg_rewrite AS r
  ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid AND r.ev_class <> views.oid WHERE views.depth < 50
),
found AS (
  SELECT max(v.depth) AS place, k.kind || ' ' || c.oid::regclass AS what,
    format('DROP %s %s;', k.kind, c.oid::regclass) AS before,
    format('CREATE %s %s%s AS %s', k.kind, c.oid::regclass, ' WITH (' || array_to_string(c.reloptions, ', ') || ')',
      pg_get_viewdef(c.oid))
    || coalesce((SELECT string_agg(' ' || pg_get_indexdef(i.indexrelid) || ';', '') FROM pg_index AS i
      WHERE i.indrelid = c.oid), '')
    || format(' ALTER %s %s OWNER TO %I;', k.kind, c.oid::regclass, pg_get_userbyid(c.relowner))
    || coalesce((SELECT string_agg(format(' GRANT %s ON %s TO %s;', g.privilege_type, c.oid::regclass,
      CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END), '')
      FROM aclexplode(c.relacl) AS g WHERE g.grantee <> c.relowner), '')
    || coalesce(format(' COMMENT ON %s %s IS %L;', k.kind, c.oid::regclass, obj_description(c.oid, 'pg_class')), '')
    AS afterward
  FROM views AS v JOIN pg_class AS c ON c.oid = v.oid
  CROSS JOIN LATERAL (SELECT CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END AS kind) AS k
  GROUP BY c.oid, c.relkind, c.reloptions, c.relowner, c.relacl, k.kind
  UNION ALL
  SELECT 0, format('trigger %s of %s', t.tgname, t.tgrelid::regclass),
    CASE WHEN u.objid IS NOT NULL THEN format('DROP TRIGGER %I ON %s;', t.tgname, t.tgrelid::regclass) END,
    CASE WHEN u.objid IS NOT NULL THEN pg_get_triggerdef(t.oid) || ';' END
  FROM pg_trigger AS t LEFT JOIN used AS u ON u.classid = 'pg_trigger'::regclass AND u.objid = t.oid
  WHERE t.tgrelid = {table} AND NOT t.tgisinternal
  UNION ALL
  SELECT 0, format('policy %s', p.polname), format('DROP POLICY %I ON %s;', p.polname, p.polrelid::regclass),
    format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s;', p.polname, p.polrelid::regclass,
      CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
      CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
        ELSE 'ALL' END,
      (SELECT string_agg(CASE r WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(r)) END, ', ')
        FROM unnest(p.polroles) AS r),
      ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
      ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
  FROM pg_policy AS p WHERE p.oid IN (SELECT objid FROM used WHERE classid = 'pg_policy'::regclass)
  UNION ALL
  SELECT 0, format('column %s, computed from it: %s', a.attname, pg_get_expr(d.adbin, d.adrelid)),
    CASE a.attgenerated WHEN 's' THEN format('ALTER TABLE %s ALTER COLUMN %I DROP EXPRESSION;', {table}, a.attname)
      ELSE format('ALTER TABLE %s DROP COLUMN %I;', {table}, a.attname) END, NULL
  FROM pg_attrdef AS d JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
  WHERE d.adrelid = {table} AND d.oid IN (SELECT objid FROM used WHERE classid = 'pg_attrdef'::regclass)
    AND a.attgenerated <> '' AND a.attnum NOT IN (SELECT attnum FROM own)
  UNION ALL
  SELECT 0, format('%s of %s, which the new column lacks: %s', CASE own.attgenerated WHEN '' THEN 'default'
    ELSE 'expression' END, own.attname, pg_get_expr(d.adbin, d.adrelid)), NULL, NULL
  FROM own JOIN pg_attrdef AS d ON d.adrelid = own.attrelid AND d.adnum = own.attnum
  UNION ALL
  SELECT 0, format('NOT NULL of %s, which the new column lacks', attname), NULL, NULL FROM own WHERE attnotnull
  UNION ALL
  SELECT 0, format('constraint %s, which goes with the old column: %s', k.conname, pg_get_constraintdef(k.oid)),
    NULL, NULL
  FROM pg_constraint AS k WHERE k.conrelid = {table} AND k.contype IN ('c', 'f', 'x')
    AND k.conkey && (SELECT array_agg(attnum) FROM own)
  UNION ALL
  SELECT 0, format('comment on %s', attname), NULL,
    format('COMMENT ON COLUMN %s.%I IS %L;', {table}, attname, col_description(attrelid, attnum))
  FROM own WHERE col_description(attrelid, attnum) IS NOT NULL
  UNION ALL
  SELECT 0, format('grant on %s', own.attname), NULL, format('GRANT %s (%I) ON %s TO %s;', g.privilege_type,
    own.attname, {table}, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END)
  FROM own CROSS JOIN LATERAL aclexplode(own.attacl) AS g
  UNION ALL
  SELECT 0, pg_describe_object(classid, objid, objsubid), NULL, NULL FROM used
  WHERE classid NOT IN ('pg_rewrite'::regclass, 'pg_trigger'::regclass, 'pg_policy'::regclass, 'pg_attrdef'::regclass,
    'pg_constraint'::regclass) AND objid NOT IN (SELECT indexrelid FROM pg_index)
)
SELECT what, before, afterward FROM found ORDER BY place DESC, what;"""


def dependents(place: Place, columns: Sequence[str]) -> str:
    """A query for what depends on the columns: what it is, and statements where there are such.

    Its column `before` takes a thing aside, in the order of the rows; `afterward` makes it again, in the reverse order.
    """
    engine = place.profile.engine
    listed = ", ".join(quote_text(engine, column) for column in columns)
    return _QUERY.format(table=f"{quote_text(engine, place.table())}::regclass", columns=listed)
