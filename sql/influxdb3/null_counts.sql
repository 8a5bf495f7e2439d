-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field
-- cost: one scan of all rows within the window
-- grant: read on the database
-- versions: 3.0 and later, Cloud Serverless, Cloud Dedicated
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/functions/aggregate/#count
SELECT
  count(*) AS "rows",
  min({{ time | name }}) AS "first_time",
  max({{ time | name }}) AS "last_time"
  {%- for field in fields %},
  count({{ field | name }}) AS "count_{{ loop.index }}"
  {%- endfor %}

FROM {{ measurement | name }}
{% include "_window.sql" %}
