"""Rules about the number of series."""
