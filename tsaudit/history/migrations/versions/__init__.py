"""One module per revision; the names count for people only, Alembic goes by `revision`."""
