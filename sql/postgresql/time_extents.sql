-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest, of texts only those in the form
--   of most: dates, or others; then for each column how many texts have another form, and the lowest of them
-- cost: reads the columns of all rows; of a big table those on pages chosen at random
-- grant: SELECT on the table
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/functions-aggregate.html
{% macro of_form(wanted, column, others=false) %}
{% set text = "CAST(" ~ column ~ ' AS TEXT) COLLATE "C"' %}
{% set is_date = text ~ " ~ '^\\d{4}-[01]\\d-[0-3]\\d'" %}
{% set has_digit = text ~ " ~ '^\\d'" %}
CASE
    WHEN 2 * count(*) FILTER (WHERE {{ is_date }}) >= count({{ column }})
      THEN {{ wanted }}({{ column }})
        FILTER (WHERE {% if others %}NOT {{ is_date }} AND {{ has_digit }}{% else %}{{ is_date }}{% endif %})
    ELSE {{ wanted }}({{ column }}) FILTER (WHERE {{ "NOT " if not others }}{{ is_date }})
  END
{%- endmacro %}
SELECT
  count(*) AS rows
  {%- for column in columns %},
  {% if column in texts %}
  {{ of_form("count", "nullif(" ~ (column | name) ~ ", '')") }} AS values_{{ loop.index }},
  {{ of_form("min", "nullif(" ~ (column | name) ~ ", '')") }} AS first_{{ loop.index }},
  {{ of_form("max", "nullif(" ~ (column | name) ~ ", '')") }} AS last_{{ loop.index }}
  {%- else %}
  count({{ column | name }}) AS values_{{ loop.index }},
  min({{ column | name }}) AS first_{{ loop.index }},
  max({{ column | name }}) AS last_{{ loop.index }}
  {%- endif %}
  {%- endfor %}
  {%- for column in columns %},
  {% if column in texts %}
  {{ of_form("count", "nullif(" ~ (column | name) ~ ", '')", true) }} AS others_{{ loop.index }},
  {{ of_form("min", "nullif(" ~ (column | name) ~ ", '')", true) }} AS other_{{ loop.index }}
  {%- else %}
  0 AS others_{{ loop.index }},
  NULL AS other_{{ loop.index }}
  {%- endif %}
  {%- endfor %}

FROM {{ "ONLY " if inherited }}{{ database | name }}.{{ measurement | name }}
{% if percent %}
TABLESAMPLE SYSTEM ({{ percent }}) REPEATABLE (1)
{% endif %}
