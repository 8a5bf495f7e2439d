"""PostgreSQL and TimescaleDB."""
