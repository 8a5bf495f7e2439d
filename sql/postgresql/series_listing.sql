-- fact: series_listing
-- columns: one per tag, as text, null where the tag is absent
-- cost: reads the rows within the window
-- grant: SELECT on the table
-- versions: 12 and later
-- link: https://www.postgresql.org/docs/current/sql-select.html
SELECT
{% for tag in tags %}
  CAST({{ tag | name }} AS TEXT) AS {{ tag | name }}{{ "," if not loop.last }}
{% endfor %}
FROM (
  SELECT DISTINCT {% for tag in tags %}{{ tag | name }}{{ ", " if not loop.last }}{% endfor %}

  FROM {{ database | name }}.{{ measurement | name }}
  {% include "_window.sql" %}
) AS listed
LIMIT {{ limit }}
