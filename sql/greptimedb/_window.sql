-- Rows from `start` (included) to `end` (excluded). Without its zone the server would take a time for one in the session's.
WHERE {{ time | name }} >= {{ start | instant("+00:00") }}
  AND {{ time | name }} < {{ end | instant("+00:00") }}
