"""Compares tables with each other: one schema under many names."""
