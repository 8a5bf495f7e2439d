"""GreptimeDB: how it is reached, and what its answers about its own tables mean."""
