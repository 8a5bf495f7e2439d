"""How long the last audit of each target took."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of durations."""
    op.create_table(
        "duration",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False, comment="of the target's last audit, waiting excluded"),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_duration")),
        comment="by which targets are dealt to runs that take about as long",
    )
