"""How far the figure of a decided finding may grow before somebody has to decide again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; earlier decisions keep them empty and cover any figure of their severity."""
    columns = (
        sa.Column("observed", sa.Float(), comment="figure of the finding when it was made; null: it had none"),
        sa.Column("bound", sa.Float(), comment="the figure it covers at most, or at least if less is worse; null: any"),
        sa.Column("unit", sa.Text(), comment="of both figures"),
    )
    for column in columns:
        op.add_column("decision", column)
    if op.get_bind().dialect.supports_comments:
        _describe()


def _describe() -> None:
    """The comments of what was there before."""
    op.alter_column("decision", "kind", comment="ack, snooze, accept, reopen", existing_comment="ack, snooze, accept")
    op.alter_column(
        "decision",
        "until",
        comment="last day it holds; null for ack (until resolved) and reopen",
        existing_comment="last day it holds; null only for ack: until resolved",
    )
    op.create_table_comment(
        "decision",
        "what people said of an incident; rows stay, and only the newest counts",
        existing_comment="what a person said of an incident; the newest that holds counts",
    )
