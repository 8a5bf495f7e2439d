-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest
-- cost: reads the columns of all rows; of a big table those on pages chosen at random
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/functions-aggregate.html
SELECT
  count(*) AS rows
  {%- for column in columns %},
  count({{ column | name }}) AS values_{{ loop.index }},
  min({{ column | name }}) AS first_{{ loop.index }},
  max({{ column | name }}) AS last_{{ loop.index }}
  {%- endfor %}

FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
{% if percent %}
TABLESAMPLE SYSTEM ({{ percent }}) REPEATABLE (1)
{% endif %}
