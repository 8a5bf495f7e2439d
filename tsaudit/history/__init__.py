"""tsaudit's own store: snapshots, incidents, deliveries. SQLite or PostgreSQL, never an audited database."""
