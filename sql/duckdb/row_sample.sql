-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: reads rows within the window until the newest are known, or all rows; at most `limit` are sent
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/query_syntax/select
SELECT
{% for column in columns %}
  {% if column in texts %}
  left(CAST({{ column | name }} AS VARCHAR), {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
{% if filled is defined and filled %}
AND {{ filled | name }} IS NOT NULL
{% endif %}
{% if hashed is defined and hashed %}
ORDER BY hash({{ hashed | name }})
{% elif time %}
ORDER BY {{ time | name }} DESC, rowid DESC
{% endif %}
LIMIT {{ limit }}
