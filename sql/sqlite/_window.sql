-- Rows from `start` (included) to `end` (excluded). SQLite has no type for time: a column holds ISO 8601 text or a number
-- since 1970. Text is compared by julianday(), which reads both `2026-03-01 00:00:00` and `2026-03-01T00:00:00+02:00`;
-- the plain comparison before it, a day wider at each end, lets an index on the column help.
{% if time %}
WHERE
{% if time_kind in ("text", "timestamp", "zoned") %}
  {{ time | name }} >= date({{ start | instant }}, '-1 day')
  AND {{ time | name }} < coalesce(date({{ end | instant }}, '+2 days'), '9999-99')
  AND julianday({{ time | name }}) >= julianday({{ start | instant }})
  AND julianday({{ time | name }}) < julianday({{ end | instant }})
{% else %}
  {{ time | name }} >= {{ start | epoch(time_kind) }}
  AND {{ time | name }} < {{ end | epoch(time_kind) }}
{% endif %}
{% endif %}
