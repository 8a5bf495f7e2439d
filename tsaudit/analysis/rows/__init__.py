"""Rows: what is filled together, and how often they come."""
