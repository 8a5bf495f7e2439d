-- fact: series_listing
-- columns: one per tag, as text, null where the tag is absent
-- cost: reads the key columns of all rows within the window
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/distinct/
-- DISTINCT keeps null tags, which count(DISTINCT ...) drops. `num_series` of a file is an estimate based on its times, not read.
SELECT
{% for tag in tags %}
  CAST(listed.{{ tag | name }} AS STRING) AS {{ tag | name }}{{ "," if not loop.last }}
{% endfor %}
FROM (
  SELECT DISTINCT {% for tag in tags %}{{ tag | name }}{{ ", " if not loop.last }}{% endfor %}

  FROM {{ database | name }}.{{ measurement | name }}
  {% include "_window.sql" %}
) AS listed
LIMIT {{ limit }}
