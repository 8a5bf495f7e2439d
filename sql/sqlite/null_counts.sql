-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field
-- cost: one scan of all rows within the window
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_select.html
SELECT
  count(*) AS rows,
  {{ "min(" ~ (time | name) ~ ")" if time else "NULL" }} AS first_time,
  {{ "max(" ~ (time | name) ~ ")" if time else "NULL" }} AS last_time
  {%- for field in fields %},
  count({{ field | name }})
  {%- endfor %}

FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
