-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: reads rows within the window until the newest are known, or all, or some from all of the table
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_select.html
SELECT
{% for column in columns %}
  {% if sizes is defined and column in sizes %}
  length(CAST({{ column | name }} AS BLOB)) AS {{ column | name }}{{ "," if not loop.last }}
  {% elif column in texts %}
  substr({{ column | name }}, 1, {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
{% if partial_scan is defined and partial_scan %}
-- The next row from each of as many places: IDs may have gaps. They are not equally far from each other, as sources may
-- write in turn.
WHERE rowid IN (
  WITH RECURSIVE spread (number, first, step, last) AS (
    SELECT 0, low.id, max((high.id - low.id) / {{ partial_scan.rows }}, 1), high.id
    FROM (SELECT min(rowid) AS id FROM {{ database | name }}.{{ measurement | name }}) AS low,
      (SELECT max(rowid) AS id FROM {{ database | name }}.{{ measurement | name }}) AS high
    UNION ALL
    SELECT number + 1, first, step, last FROM spread WHERE first + (number + 1) * step <= last
  )
  SELECT (
    SELECT min(rowid) FROM {{ database | name }}.{{ measurement | name }}
    WHERE rowid >= spread.first + spread.number * spread.step + (spread.number * 1103515245 / 65536) % spread.step
  )
  FROM spread
)
{% endif %}
{% if filled is defined and filled %}
AND {{ filled | name }} IS NOT NULL
{% endif %}
{% if hashed is defined and hashed %}
ORDER BY crc32({{ hashed | name }})
{% elif time %}
ORDER BY {{ time | name }} DESC
{% endif %}
LIMIT {{ limit }}
