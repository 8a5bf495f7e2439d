"""Connections to others, bounded in time and memory whatever the other side does."""
