"""Which rules judged on a day, and which could not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; days audited before have it empty and are read from their results."""
    op.add_column(
        "snapshot", sa.Column("rules", sa.Text(), comment="JSON: codes of the rules that judged and that did not")
    )
