-- fact: series_listing
-- columns: one per tag, as text, null where the tag is absent
-- cost: reads the tag columns of all rows within the window
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_select.html
SELECT
{% for tag in tags %}
  CAST({{ tag | name }} AS TEXT) AS {{ tag | name }}{{ "," if not loop.last }}
{% endfor %}
FROM (
  SELECT DISTINCT {% for tag in tags %}{{ tag | selected }}{{ ", " if not loop.last }}{% endfor %}

  FROM {{ database | name }}.{{ measurement | name }}
  {% include "_window.sql" %}
)
LIMIT {{ limit }}
