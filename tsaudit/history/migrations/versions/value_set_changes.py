"""What a day changed, beside a value set in full, so that compaction can leave only that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Sets that are stored already stay in full until they are older than 90 days."""
    comment = "with a set in full: what this day changed; null: it follows no set"
    op.add_column("value_set", sa.Column("changes", sa.LargeBinary(), comment=comment))
    if op.get_bind().dialect.name == "sqlite":
        return
    op.alter_column(
        "value_set",
        "whole",
        existing_type=sa.Integer(),
        existing_nullable=False,
        comment="tsaudit.history.value_set_chains.Form: what data is",
        existing_comment="1: the set with this day; 0: what this day changed",
    )
    op.alter_column(
        "value_set",
        "data",
        existing_type=sa.LargeBinary(),
        existing_nullable=False,
        comment="tsaudit.analysis.values.stored_value_sets",
        existing_comment="tsaudit.analysis.values.value_sets",
    )
