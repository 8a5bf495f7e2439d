"""Rules that apply to GreptimeDB only."""
