-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest, of those in the form of most:
--   dates as text, or numbers; then for each column the number of its other values, and the lowest of them
-- cost: reads all rows
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_aggfunc.html
{% set day = "'[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*'" %}
{% macro usual(wanted, column, without="") %}
{% set is_date = "typeof(" ~ column ~ ") = 'text' AND " ~ column ~ " GLOB " ~ day ~ " AND " ~ column ~ " > '0001'" %}
{% set is_number = "typeof(" ~ column ~ ") IN ('integer', 'real')" %}
iif(2 * count(*) FILTER (WHERE {{ is_date }}) >= count({{ column }}),
    {{ wanted }}({{ column }}) FILTER (WHERE {{ without }}({{ is_date }})),
    {{ wanted }}({{ column }}) FILTER (WHERE {{ without }}({{ is_number }})))
{%- endmacro %}
SELECT
  count(*) AS rows
  {%- for column in columns %},
  {{ usual("count", "nullif(" ~ (column | name) ~ ", '')") }} AS values_{{ loop.index }},
  {{ usual("min", "nullif(" ~ (column | name) ~ ", '')") }} AS first_{{ loop.index }},
  {{ usual("max", "nullif(" ~ (column | name) ~ ", '')") }} AS last_{{ loop.index }}
  {%- endfor %}
  {%- for column in columns %},
  {{ usual("count", "nullif(" ~ (column | name) ~ ", '')", "NOT ") }} AS others_{{ loop.index }},
  {{ usual("min", "nullif(" ~ (column | name) ~ ", '')", "NOT ") }} AS other_{{ loop.index }}
  {%- endfor %}

FROM {{ database | name }}.{{ measurement | name }}
