"""Combines the changes of all findings into one plan for each measurement."""
