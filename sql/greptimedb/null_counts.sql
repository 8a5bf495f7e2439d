-- fact: null_counts
-- columns: rows, first_time, last_time, then one count per field, then, if asked, whether there are later rows
-- cost: one scan of all rows within the window, and of those after it until one is found
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/case/
-- Not count(field): without a condition an append-only table answers it from statistics that know of no null. Times as
-- numbers, as a year that MySQL does not know would fail the statement.
SELECT
  count(*) AS "rows",
  CAST(min({{ time | name }}) AS BIGINT) AS first_time,
  CAST(max({{ time | name }}) AS BIGINT) AS last_time
  {%- for field in fields %},
  sum(CASE WHEN {{ field | name }} IS NULL THEN 0 ELSE 1 END) AS count_{{ loop.index }}
  {%- endfor %}
  {%- if later is defined and later %},
  (
    SELECT count(*) FROM (
      SELECT {{ time | name }} FROM {{ database | name }}.{{ measurement | name }}
      {% with start = end, end = end.replace(year=[end.year + 100, 9999] | min) %}
      {% include "_window.sql" %}
      {% endwith %}
      LIMIT 1
    ) AS later_row
  ) AS later
  {%- endif %}

FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
