"""Rules that apply to PostgreSQL and TimescaleDB only."""
