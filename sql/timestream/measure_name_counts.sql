-- fact: measure_name_counts
-- columns: measure_name, rows, first_time, last_time, series, then a count per tag and field, then distinct values per tag
-- cost: one scan of all rows within the window
-- grant: timestream:Select
-- versions: API 2018-11-01
-- link: https://docs.aws.amazon.com/timestream/latest/developerguide/aggregate-functions.html
-- All that is counted is counted in one statement: a second scan would cost as much again.
SELECT
  measure_name AS "measure_name",
  count(*) AS "rows",
  min({{ time | name }}) AS "first_time",
  max({{ time | name }}) AS "last_time",
  {% if tags %}
  approx_distinct({% for tag in tags %}coalesce({{ tag | name }}, ''){{ " || '|' || " if not loop.last }}{% endfor %}) AS "series"
  {%- else %}
  1 AS "series"
  {%- endif %}
  {%- for column in tags + fields %},
  count({{ column | name }}) AS "count_{{ loop.index }}"
  {%- endfor %}
  {%- for tag in tags %},
  approx_distinct({{ tag | name }}) AS "distinct_{{ loop.index }}"
  {%- endfor %}

{% include "_from.sql" %}

GROUP BY measure_name
