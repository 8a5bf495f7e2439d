-- fact: row_sample
-- columns: those of the table, long texts cut off
-- cost: reads files within the window, newest first, until `limit` rows are known
-- grant: read on the database
-- versions: 3.0 and later, Cloud Serverless, Cloud Dedicated
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/order-by/
SELECT
{% for column in columns %}
  {% if column in texts %}
  left(CAST({{ column | name }} AS VARCHAR), {{ longest }}) AS {{ column | name }}{{ "," if not loop.last }}
  {% else %}
  {{ column | name }}{{ "," if not loop.last }}
  {% endif %}
{% endfor %}
FROM {{ measurement | name }}
{% include "_window.sql" %}

ORDER BY {{ time | name }} DESC
LIMIT {{ limit }}
