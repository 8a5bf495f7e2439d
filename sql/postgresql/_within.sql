-- Rows from `start` (included) to `end` (excluded), by how the column keeps time.
-- Text is read as a time only where it looks like one: PostgreSQL before 16 cannot ask whether a cast would fail.
{% if time_kind == "zoned" %}
  {{ time | name }} >= TIMESTAMPTZ '{{ start | instant | replace("'", "") }}+00'
  AND {{ time | name }} < TIMESTAMPTZ '{{ end | instant | replace("'", "") }}+00'
{% elif time_kind == "text" %}
  CASE
    WHEN {{ time | name }} ~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?([zZ]|[+-]\d\d(:?\d\d)?)?)?$'
      THEN CAST({{ time | name }} AS TIMESTAMPTZ)
  END BETWEEN TIMESTAMPTZ '{{ start | instant | replace("'", "") }}+00'
    AND TIMESTAMPTZ '{{ end | instant | replace("'", "") }}+00' - INTERVAL '1 microsecond'
{% elif time_kind == "timestamp" %}
  {{ time | name }} >= TIMESTAMP {{ start | instant }}
  AND {{ time | name }} < TIMESTAMP {{ end | instant }}
{% else %}
  {{ time | name }} >= {{ start | epoch(time_kind) }}
  AND {{ time | name }} < {{ end | epoch(time_kind) }}
{% endif %}
