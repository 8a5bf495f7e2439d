"""The script that Alembic runs for every command. It uses the connection of `database.migrate`, inside its locked
transaction.
"""

from __future__ import annotations

from alembic import context

from tsaudit.history.database import VERSION_TABLE
from tsaudit.history.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
