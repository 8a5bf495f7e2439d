"""Rules that only apply to PostgreSQL and TimescaleDB."""
