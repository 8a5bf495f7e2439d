"""Connections with limits on time and memory, whatever the other side does."""
