-- fact: scan_estimate
-- columns: rows, rows_read, rows_all, rows_sorted
-- cost: three questions to the planner, about the rows inside the window, every row, and the newest; none is read
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/sql-explain.html
EXPLAIN (FORMAT JSON)
SELECT * FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
{% if part != "every" %}
{% include "_window.sql" %}
{% endif %}
{% if part == "newest" %}
ORDER BY {{ time | name }} DESC
LIMIT {{ limit }}
{% endif %}
