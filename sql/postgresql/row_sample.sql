-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: reads the rows within the window, or all; of a big table the newest by an index, or pages chosen at random
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/sql-select.html
{% set pages = partial_scan is defined and partial_scan and not partial_scan.newest %}
SELECT
{% for column in columns %}
  {% if sizes is defined and column in sizes %}
  pg_column_size({{ column | name }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% elif column in texts %}
  left(CAST({{ column | name }} AS TEXT), {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
{% if pages %}
TABLESAMPLE SYSTEM ({{ partial_scan.percent }}) REPEATABLE (1)
{% endif %}
{% include "_window.sql" %}
{% if filled is defined and filled %}
AND {{ filled | name }} IS NOT NULL
{% endif %}
{% if hashed is defined and hashed %}
ORDER BY hashtext(CAST({{ hashed | name }} AS TEXT))
{% elif time and not pages %}
ORDER BY {{ time | name }} DESC
{% endif %}
LIMIT {{ limit }}
