"""Scheduled schema audits of live time-series databases."""

__version__ = "0.1.0"
