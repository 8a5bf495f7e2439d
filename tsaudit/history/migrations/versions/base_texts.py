"""Base texts, from which snapshots and findings are stored as differences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_OF_BASE = "base that the texts are differences from; null: without one"


def upgrade() -> None:
    """Add the table and the columns. What is stored already stays readable; compaction packs it little by little."""
    # Reactions used to outlive their messages. The newest stays, because SQLite would give its ID to another one.
    op.execute(
        "DELETE FROM reaction WHERE delivery_id NOT IN (SELECT id FROM delivery) "
        "AND id < (SELECT max(id) FROM reaction)"
    )
    op.create_table(
        "base",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="the day whose texts these are"),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="packed: profile and result as JSON"),
        sa.Column(
            "root_id", sa.Integer(), comment="base that this one is a difference from; null: it is stored in full"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_base")),
        comment="texts that the snapshots and findings of a target are stored as differences from",
    )
    op.create_index(op.f("ix_base_target"), "base", ["target"])
    op.create_table(
        "past_outcome",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False, comment="as in snapshot"),
        sa.PrimaryKeyConstraint("target", "day", name=op.f("pk_past_outcome")),
        comment="of days that compaction removed: what shows since when a rule has been unknown",
    )
    op.add_column("snapshot", sa.Column("base_id", sa.Integer(), comment=_OF_BASE))
    if op.get_bind().dialect.name == "sqlite":
        with op.batch_alter_table("incident_day") as table:
            table.add_column(sa.Column("base_id", sa.Integer()))
            table.alter_column("finding", type_=sa.LargeBinary(), existing_type=sa.Text(), existing_nullable=False)
        op.execute("UPDATE incident_day SET finding = CAST(finding AS BLOB)")
        return
    op.add_column("incident_day", sa.Column("base_id", sa.Integer(), comment=_OF_BASE))
    op.alter_column(
        "incident_day",
        "finding",
        type_=sa.LargeBinary(),
        existing_type=sa.Text(),
        existing_nullable=False,
        comment="packed JSON of the newest finding",
        existing_comment="JSON of the newest finding",
        postgresql_using="convert_to(finding, 'UTF8')",
    )
    for column, nullable in (("profile", True), ("result", False)):
        rest = "; null when the target could not be audited" if nullable else ""
        op.alter_column(
            "snapshot",
            column,
            existing_type=sa.LargeBinary(),
            existing_nullable=nullable,
            comment=f"packed JSON{rest}",
            existing_comment=f"zlib-compressed JSON{rest}",
        )
