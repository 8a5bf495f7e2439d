-- fact: row_sample
-- columns: those of the table, long texts cut off, then measure_name
-- cost: reads all rows from `start` on, which is as late as `limit` rows allow
-- grant: timestream:Select
-- versions: API 2018-11-01
-- link: https://docs.aws.amazon.com/timestream/latest/developerguide/supported-sql-constructs.SELECT.html
-- No alias may hold a colon, as "measure_value::varchar" does; the columns get their names back by their position.
SELECT
{% for column in columns %}
  {% if column in texts %}
  substr({{ column | name }}, 1, {{ longest }}) AS "text_{{ loop.index }}",
  {% else %}
  {{ column | name }},
  {% endif %}
{% endfor %}
  measure_name
{% include "_from.sql" %}

ORDER BY {{ time | name }} DESC
LIMIT {{ limit }}
