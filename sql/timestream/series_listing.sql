-- fact: series_listing
-- columns: one per tag, null where the tag is absent
-- cost: reads the dimensions of all rows within the window
-- grant: timestream:Select
-- versions: API 2018-11-01
-- link: https://docs.aws.amazon.com/timestream/latest/developerguide/supported-sql-constructs.SELECT.html
-- Not sent for tables in which a dimension has a value of its own in most rows: the listing would be the table.
SELECT DISTINCT {% for tag in tags %}{{ tag | name }}{{ ", " if not loop.last }}{% endfor %}

{% include "_from.sql" %}

LIMIT {{ limit }}
