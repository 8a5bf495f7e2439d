-- Rows from `start` (included) to `end` (excluded), by how the column keeps time. A table without time is read whole.
{% if time %}
WHERE
{% if time_kind == "zoned" %}
  {{ time | name }} >= CAST({{ start | instant }} || '+00' AS TIMESTAMPTZ)
  AND {{ time | name }} < CAST({{ end | instant }} || '+00' AS TIMESTAMPTZ)
{% elif time_kind == "text" %}
  TRY_CAST({{ time | name }} AS TIMESTAMP) >= TIMESTAMP {{ start | instant }}
  AND TRY_CAST({{ time | name }} AS TIMESTAMP) < TIMESTAMP {{ end | instant }}
{% elif time_kind == "timestamp" %}
  {{ time | name }} >= TIMESTAMP {{ start | instant }}
  AND {{ time | name }} < TIMESTAMP {{ end | instant }}
{% else %}
  {{ time | name }} >= {{ start | epoch(time_kind) }}
  AND {{ time | name }} < {{ end | epoch(time_kind) }}
{% endif %}
{% endif %}
