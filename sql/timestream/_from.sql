-- The table's rows from `start` (included) to `end` (excluded). Bounds are literals: they prune partitions, and mean the
-- same on each page of the answer.
FROM {{ database | name }}.{{ measurement | name }}
WHERE {{ time | name }} >= TIMESTAMP {{ start | instant }}
  AND {{ time | name }} < TIMESTAMP {{ end | instant }}
