-- Rows from `start` (included) to `end` (excluded).
WHERE {{ time | name }} >= TIMESTAMP {{ start | instant }}
  AND {{ time | name }} < TIMESTAMP {{ end | instant }}
