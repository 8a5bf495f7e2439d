-- fact: row_estimate
-- columns: measurement, rows, state
-- cost: catalog, and the places of the tables' blocks in the file: about 2 ms a table; rows are exact
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/configuration/pragmas#storage-information
-- Neither the catalog's number of rows nor the blocks alone show every change: rows deleted and as many written leave
-- the number as it was, and rows that are only deleted leave the blocks.
{% for measurement in measurements %}
{% set table = (catalog | name) ~ "." ~ (database | name) ~ "." ~ (measurement | name) %}
SELECT
  {{ measurement | text }} AS measurement,
  counted.rows,
  concat_ws(
    ' ',
    counted.rows,
    (
      SELECT bit_xor(
        hash(row_group_id, column_path, segment_id, count, block_id, block_offset, has_updates, stats)
      )
      FROM pragma_storage_info({{ table | text }})
    )
  ) AS state
FROM (SELECT count(*) AS rows FROM {{ table }}) AS counted
{{ "UNION ALL" if not loop.last }}
{% endfor %}
