-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest, of texts only those in the form
--   of most: dates, or others; then for each column how many texts have another form, and the lowest of them
-- cost: reads the columns of all rows
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/functions/aggregates
{% macro of_form(wanted, column, others=false) %}
{% set is_date = "regexp_matches(" ~ column ~ ", '^\\d{4}-[01]\\d-[0-3]\\d')" %}
{% set has_digit = "regexp_matches(" ~ column ~ ", '^\\d')" %}
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

FROM {{ catalog | name }}.{{ database | name }}.{{ measurement | name }}
