"""Rows: which columns are filled together, and how often rows arrive."""
