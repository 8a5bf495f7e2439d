-- fact: series_listing
-- columns: one per tag, as text, null where the tag is absent
-- cost: reads the tag columns of all rows within the window
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/query_syntax/select
SELECT
{% for tag in tags %}
  CAST({{ tag | name }} AS VARCHAR) AS {{ tag | name }}{{ "," if not loop.last }}
{% endfor %}
FROM (
  SELECT DISTINCT {% for tag in tags %}{{ tag | selected }}{{ ", " if not loop.last }}{% endfor %}

  FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
  {% include "_window.sql" %}
)
LIMIT {{ limit }}
