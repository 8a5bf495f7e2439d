"""Rules about how data is split into tables, rows and columns."""
