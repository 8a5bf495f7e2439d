-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest
-- cost: reads the columns of all rows
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/functions/aggregates
SELECT
  count(*) AS rows
  {%- for column in columns %},
  count({{ column | name }}) AS values_{{ loop.index }},
  min({{ column | name }}) AS first_{{ loop.index }},
  max({{ column | name }}) AS last_{{ loop.index }}
  {%- endfor %}

FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
