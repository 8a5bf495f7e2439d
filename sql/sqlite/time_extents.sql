-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest
-- cost: reads all rows
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_aggfunc.html
SELECT
  count(*) AS rows
  {%- for column in columns %},
  count({{ column | name }}) AS values_{{ loop.index }},
  min({{ column | name }}) AS first_{{ loop.index }},
  max({{ column | name }}) AS last_{{ loop.index }}
  {%- endfor %}

FROM {{ database | name }}.{{ measurement | name }}
