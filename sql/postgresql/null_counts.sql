-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field, then, if asked, whether there are later rows
-- cost: one scan of all rows within the window; later ones are counted in the same scan, or one is looked up in an index
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/functions-aggregate.html
-- No index helps with a time that is kept as text. An EXISTS would drop the ORDER BY, and with it the certainty that the
-- index is used.
{% set table = ("ONLY " if inherited else "") ~ (database | name) ~ "." ~ (measurement | name) %}
{% set wanted = later if later is defined else none %}
{% if wanted == "by scan" or wanted and time_kind == "text" %}
SELECT
  coalesce(max(counted.rows) FILTER (WHERE NOT counted.later), 0) AS rows,
  max(counted.first_time) FILTER (WHERE NOT counted.later) AS first_time,
  max(counted.last_time) FILTER (WHERE NOT counted.later) AS last_time
  {%- for field in fields %},
  coalesce(max(counted.count_{{ loop.index }}) FILTER (WHERE NOT counted.later), 0)
  {%- endfor %},
  coalesce(bool_or(counted.later), FALSE) AS later
FROM (
  SELECT
    {% with start = end, end = end.replace(year=[end.year + 100, 9999] | min) %}
    {% include "_within.sql" %}
    {% endwith %} AS later,
    count(*) AS rows,
    min({{ time | name }}) AS first_time,
    max({{ time | name }}) AS last_time
    {%- for field in fields %},
    count({{ field | name }}) AS count_{{ loop.index }}
    {%- endfor %}

  FROM {{ table }}
  {% with end = end.replace(year=[end.year + 100, 9999] | min) %}
  {% include "_window.sql" %}
  {% endwith %}
  GROUP BY 1
) AS counted
{% else %}
SELECT
  count(*) AS rows,
  {{ "min(" ~ (time | name) ~ ")" if time else "NULL" }} AS first_time,
  {{ "max(" ~ (time | name) ~ ")" if time else "NULL" }} AS last_time
  {%- for field in fields %},
  count({{ field | name }})
  {%- endfor %}
  {%- if wanted %},
  (
    SELECT TRUE FROM {{ table }}
    {% with start = end, end = end.replace(year=[end.year + 100, 9999] | min) %}
    {% include "_window.sql" %}
    {% endwith %}
    ORDER BY {{ time | name }}
    LIMIT 1
  ) IS NOT NULL AS later
  {%- endif %}

FROM {{ table }}
{% include "_window.sql" %}
{% endif %}
