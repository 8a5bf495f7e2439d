"""Rules about how an engine stores a table."""
