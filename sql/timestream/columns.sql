-- fact: columns
-- columns: measurement, column, data_type, key_position, role
-- cost: metadata only, a statement per table
-- grant: timestream:DescribeTable
-- versions: API 2018-11-01
-- link: https://docs.aws.amazon.com/timestream/latest/developerguide/supported-sql-constructs.DESCRIBE.html
-- The service tells what each column is for. A table nothing was written to has no columns.
DESCRIBE {{ database | name }}.{{ measurement | name }}
