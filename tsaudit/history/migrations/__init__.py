"""Alembic's environment and the revisions that bring a history up to date, shipped inside the package."""
