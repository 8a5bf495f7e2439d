-- fact: time_extents
-- columns: rows, then for each column its number of values, the lowest, and the highest, of those in the form of most:
--   dates as text, or numbers; then for each column the number of its other values, and the lowest of them
-- cost: reads all rows
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/lang_aggfunc.html
{% set day = "'[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*'" %}
{% macro date(column) %}
typeof({{ column }}) = 'text' AND {{ column }} > '0001' AND {{ column }} GLOB {{ day }}
{%- endmacro %}
{% macro number(column) %}
typeof({{ column }}) IN ('integer', 'real')
{%- endmacro %}
SELECT
  rows
  {%- for column in columns %}
  {% set n = loop.index %},
  iif(2 * dates_{{ n }} >= all_{{ n }}, dates_{{ n }}, numbers_{{ n }}) AS values_{{ n }},
  iif(2 * dates_{{ n }} >= all_{{ n }}, first_date_{{ n }}, first_number_{{ n }}) AS first_{{ n }},
  iif(2 * dates_{{ n }} >= all_{{ n }}, last_date_{{ n }}, last_number_{{ n }}) AS last_{{ n }}
  {%- endfor %}
  {%- for column in columns %}
  {% set n = loop.index %},
  all_{{ n }} - iif(2 * dates_{{ n }} >= all_{{ n }}, dates_{{ n }}, numbers_{{ n }}) AS others_{{ n }},
  -- Numbers are lower than texts.
  iif(2 * dates_{{ n }} >= all_{{ n }}, coalesce(first_number_{{ n }}, first_text_{{ n }}),
      min(ifnull(first_date_{{ n }}, first_text_{{ n }}), ifnull(first_text_{{ n }}, first_date_{{ n }}))) AS other_{{ n }}
  {%- endfor %}

FROM (
  SELECT
    count(*) AS rows
    {%- for column in columns %}
    {% set n, value = loop.index, column | name %},
    count({{ value }}) - count(iif({{ value }} = '', 1, NULL)) AS all_{{ n }},
    count(iif({{ date(value) }}, 1, NULL)) AS dates_{{ n }},
    min(iif({{ date(value) }}, {{ value }}, NULL)) AS first_date_{{ n }},
    max(iif({{ date(value) }}, {{ value }}, NULL)) AS last_date_{{ n }},
    count(iif({{ number(value) }}, 1, NULL)) AS numbers_{{ n }},
    min(iif({{ number(value) }}, {{ value }}, NULL)) AS first_number_{{ n }},
    max(iif({{ number(value) }}, {{ value }}, NULL)) AS last_number_{{ n }},
    min(iif({{ number(value) }} OR {{ date(value) }} OR {{ value }} = '', NULL, {{ value }})) AS first_text_{{ n }}
    {%- endfor %}

  FROM {{ database | name }}.{{ measurement | name }}
)
