-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: with an index that begins with the time, `limit` rows; else reads the rows within the window
-- grant: SELECT on the table
-- versions: 12 and later
-- link: https://www.postgresql.org/docs/current/sql-select.html
SELECT
{% for column in columns %}
  {% if column in texts %}
  left(CAST({{ column | name }} AS TEXT), {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
{% if time %}
ORDER BY {{ time | name }} DESC
{% endif %}
LIMIT {{ limit }}
