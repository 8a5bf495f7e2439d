-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: reads rows within the window until the newest are known; at most `limit` are sent
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_select.html
SELECT
{% for column in columns %}
  {% if column in texts %}
  substr({{ column | name }}, 1, {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
{% if filled is defined and filled %}
AND {{ filled | name }} IS NOT NULL
{% endif %}
{% if time %}
ORDER BY {{ time | name }} DESC
{% endif %}
LIMIT {{ limit }}
