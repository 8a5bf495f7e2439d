"""Slack messages and their delivery."""
