-- Since when the counters count: their last reset, else a crash, or the making of the server.
coalesce(
  (SELECT d.stats_reset FROM pg_stat_database AS d WHERE d.datname = current_database()),
  least((SELECT b.stats_reset FROM pg_stat_bgwriter AS b), (SELECT a.stats_reset FROM pg_stat_archiver AS a))
)
