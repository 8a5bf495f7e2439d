"""Who audits which database at the moment."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of leases."""
    op.create_table(
        "lease",
        sa.Column("name", sa.String(length=32), nullable=False, comment="history.lease.identity of the database"),
        sa.Column("holder", sa.String(length=32), nullable=False, comment="a new one for each audit"),
        sa.Column("beat", sa.Integer(), nullable=False, comment="moves while the holder is alive"),
        sa.Column(
            "process",
            sa.String(length=100),
            nullable=False,
            comment="of the holder, unlike any other; empty: not known",
        ),
        sa.Column("who", sa.Text(), nullable=False, comment="process and machine, for people"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
        comment="which databases are being audited, so that no two audits ask one at once",
    )
