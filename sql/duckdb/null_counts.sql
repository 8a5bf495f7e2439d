-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field, then, if asked, whether there are later rows
-- cost: one scan of all rows within the window; for a later row, of those blocks of the time that may hold one
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/query_syntax/select
SELECT
  count(*) AS rows,
  {{ "min(" ~ (time | name) ~ ")" if time else "NULL" }} AS first_time,
  {{ "max(" ~ (time | name) ~ ")" if time else "NULL" }} AS last_time
  {%- for field in fields %},
  count({{ field | name }})
  {%- endfor %}
  {%- if later is defined and later %},
  EXISTS (
    SELECT 1 FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
    {% with start = end, end = end.replace(year=[end.year + 100, 9999] | min) %}
    {% include "_window.sql" %}
    {% endwith %}
  ) AS later
  {%- endif %}

FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
