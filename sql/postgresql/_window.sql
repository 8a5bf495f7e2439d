-- Rows from `start` (included) to `end` (excluded). A table without time is read whole.
{% if time %}
WHERE
{% include "_within.sql" %}
{% endif %}
