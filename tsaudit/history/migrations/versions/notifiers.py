"""Where a message goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; all messages so far were for Slack."""
    comment = "where it goes: slack, or a plug-in's"
    op.add_column(
        "delivery", sa.Column("notifier", sa.String(length=60), nullable=False, server_default="slack", comment=comment)
    )
