"""Reactions on messages, and the decisions that they made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the column; all decisions so far were made by a command."""
    op.create_table(
        "reaction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.String(length=36), nullable=False, comment="the message that it is on"),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="ack, snooze, accept"),
        sa.Column("person", sa.Text(), nullable=False, comment="Slack ID of who decided; the others only agree"),
        sa.Column("seen_at", sa.DateTime(), nullable=False),
        sa.Column("gone_at", sa.DateTime(), comment="when it was seen to have been taken back; null: it is there"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reaction")),
        comment="reactions on messages that were read, so that each is acted upon once",
    )
    op.create_index(op.f("ix_reaction_delivery_id"), "reaction", ["delivery_id"])
    by = "reaction that made it; null: the command line or another program"
    op.add_column("decision", sa.Column("reaction_id", sa.Integer(), comment=by))
    if op.get_bind().dialect.supports_comments:
        op.alter_column(
            "delivery",
            "kind",
            comment="alert, edit, reply, resolve, confirm, digest",
            existing_comment="alert, edit, reply, resolve, digest",
        )
