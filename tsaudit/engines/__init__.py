"""The engines: what each one declares, and how its databases are queried."""
