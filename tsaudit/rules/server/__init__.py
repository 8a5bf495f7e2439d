"""Rules about what the server itself says is wrong."""
