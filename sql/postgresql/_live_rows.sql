-- A session may report its rows only after an ANALYZE has counted them: n_live_tup then has them twice. Counters that
-- began before the rows came know that there are no more than were inserted.
nullif(least(s.n_live_tup, CASE WHEN s.n_tup_ins >= c.reltuples THEN s.n_tup_ins END), 0)
