-- fact: measure_names
-- columns: measurement, measure_name, data_type, dimensions
-- cost: metadata only, a statement per table
-- grant: timestream:ListMeasures
-- versions: API 2018-11-01
-- link: https://docs.aws.amazon.com/timestream/latest/developerguide/supported-sql-constructs.SHOW.html
SHOW MEASURES FROM {{ database | name }}.{{ measurement | name }}
