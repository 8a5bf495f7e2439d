"""Recognizes what names and values are by what they look like."""
