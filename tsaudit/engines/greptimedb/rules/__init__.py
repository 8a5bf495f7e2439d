"""Rules about GreptimeDB alone."""
