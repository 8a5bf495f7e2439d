-- fact: row_sample
-- columns: those of the table
-- cost: reads rows within the window until the newest are known; at most `limit` are sent
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/query_syntax/select
SELECT {% for column in columns %}{{ column | name }}{{ ", " if not loop.last }}{% endfor %}

FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
{% include "_window.sql" %}
{% if time %}
ORDER BY {{ time | name }} DESC, rowid DESC
{% endif %}
LIMIT {{ limit }}
