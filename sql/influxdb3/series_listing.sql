-- fact: series_listing
-- columns: one per tag, null where the tag is absent
-- cost: reads the tag columns of all rows within the window
-- grant: read on the database
-- versions: 3.0 and later, Cloud Serverless, Cloud Dedicated
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/select/
-- Tag values are kept with the rows and in no index, so that the listing is bounded by the window.
SELECT DISTINCT {% for tag in tags %}{{ tag | name }}{{ ", " if not loop.last }}{% endfor %}

FROM {{ measurement | name }}
{% include "_window.sql" %}

LIMIT {{ limit }}
