-- fact: row_sample
-- columns: those of the table, long texts cut off, times as numbers
-- cost: reads files within the window, newest first, until `limit` rows are known; TABLESAMPLE would be ignored
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/order_by/
-- Named by number, which no column can be, so that the order is by the time itself and not by what is made of it.
SELECT
{% for column in columns %}
  {% if column in instants %}
  CAST({{ column | name }} AS BIGINT) AS "{{ loop.index }}"{{ "," if not loop.last }}
  {% elif column in texts %}
  left({{ column | name }}, {{ longest }}) AS "{{ loop.index }}"{{ "," if not loop.last }}
  {% else %}
  {{ column | name }} AS "{{ loop.index }}"{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}

ORDER BY {{ time | name }} DESC
LIMIT {{ limit }}
