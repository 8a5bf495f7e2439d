"""The engines: what each declares, and how its databases are asked."""
