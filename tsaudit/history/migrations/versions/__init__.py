"""One module per revision. The file names are for people only; Alembic uses `revision`."""
