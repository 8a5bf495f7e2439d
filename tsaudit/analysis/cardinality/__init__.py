"""Measures series cardinality, and finds the tags that cause it."""
