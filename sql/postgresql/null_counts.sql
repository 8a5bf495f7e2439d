-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field, then whether there are later rows
-- cost: one scan of all rows within the window, and of those after it until one is found
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15
-- link: https://www.postgresql.org/docs/current/functions-aggregate.html
SELECT
  count(*) AS rows,
  {{ "min(" ~ (time | name) ~ ")" if time else "NULL" }} AS first_time,
  {{ "max(" ~ (time | name) ~ ")" if time else "NULL" }} AS last_time
  {%- for field in fields %},
  count({{ field | name }})
  {%- endfor %},
  {% if time %}
  EXISTS (
    SELECT 1 FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
    {% with start = end, end = end.replace(year=end.year + 100) %}
    {% include "_window.sql" %}
    {% endwith %}
  )
  {%- else %}
  NULL
  {%- endif %} AS later

FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
