"""Rules about problems that the server itself reports."""
