"""tsaudit's own memory: snapshots, incidents, deliveries. SQLite or PostgreSQL, never an audited database."""
