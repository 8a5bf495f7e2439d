"""Rules about how long data is kept."""
