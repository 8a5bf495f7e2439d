"""Alembic's environment and the revisions that upgrade a history, shipped inside the package."""
