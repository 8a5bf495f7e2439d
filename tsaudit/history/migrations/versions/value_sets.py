"""The values of each tag over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of value sets."""
    op.create_table(
        "value_set",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="Subject.key of a tag; of a measurement: its series"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("whole", sa.Integer(), nullable=False, comment="1: the set with this day; 0: what this day changed"),
        sa.Column(
            "checksum",
            sa.BigInteger(),
            nullable=False,
            comment="of the set with this day; the next day must follow it",
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="tsaudit.analysis.values.value_sets"),
        sa.PrimaryKeyConstraint("target", "subject", "day", name=op.f("pk_value_set")),
        comment="hashes of all values a tag had, and of all series, with the first and last day each was seen",
    )
