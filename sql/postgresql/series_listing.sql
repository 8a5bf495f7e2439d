-- fact: series_listing
-- columns: one per tag, as text, null where the tag is absent
-- cost: reads the rows within the window; of a big table the newest by an index, or pages chosen at random
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/sql-select.html
SELECT
{% for tag in tags %}
  CAST({{ tag | name }} AS TEXT) AS {{ tag | name }}{{ "," if not loop.last }}
{% endfor %}
FROM (
  {% if partial_scan is defined and partial_scan and partial_scan.newest %}
  SELECT DISTINCT {% for tag in tags %}{{ tag | name }}{{ ", " if not loop.last }}{% endfor %}

  FROM (
    SELECT {% for tag in tags %}{{ tag | selected }}{{ ", " if not loop.last }}{% endfor %}

    FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
    {% include "_window.sql" %}
    ORDER BY {{ time | name }} DESC
    LIMIT {{ partial_scan.rows }}
  ) AS newest
  {% else %}
  SELECT DISTINCT {% for tag in tags %}{{ tag | selected }}{{ ", " if not loop.last }}{% endfor %}

  FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
  {% if partial_scan is defined and partial_scan %}
  TABLESAMPLE SYSTEM ({{ partial_scan.percent }}) REPEATABLE (1)
  {% endif %}
  {% include "_window.sql" %}
  {% endif %}
) AS listed
LIMIT {{ limit }}
