"""All tables of the history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "base_text",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("month", sa.Date(), nullable=False, comment="its first day"),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="compressed"),
        sa.Column(
            "root",
            sa.Date(),
            comment="month of the base that this one is a difference from; null: it is stored by itself",
        ),
        sa.PrimaryKeyConstraint("target", "month", name=op.f("pk_base_text")),
        comment="text that a month's snapshots and findings are stored as differences from",
    )
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="ack, mute, reopen"),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("until", sa.Date(), comment="last day it holds; null for ack (until resolved) and reopen"),
        sa.Column(
            "severity",
            sa.String(length=10),
            nullable=False,
            comment="of the incident when it was made; it covers no worse",
        ),
        sa.Column("opened", sa.Date(), comment="when the incident had opened; an ack ends with that opening"),
        sa.Column("observed", sa.Float(), comment="figure of the finding when it was made; null: it had none"),
        sa.Column(
            "bound",
            sa.Float(),
            comment="the figure it covers at most, or at least if less is worse; null: any",
        ),
        sa.Column("unit", sa.Text(), comment="of both figures"),
        sa.Column(
            "reaction_id",
            sa.Integer(),
            comment="reaction that made it; null: the command line or another program",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
        comment="what people said of an incident; rows stay, and only the newest counts",
    )
    op.create_index(op.f("ix_decision_fingerprint"), "decision", ["fingerprint"], unique=False)
    op.create_table(
        "delivery",
        sa.Column("id", sa.String(length=36), nullable=False, comment="UUID; travels in the Slack message's metadata"),
        sa.Column("queued_at", sa.DateTime(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False, comment="order of sending"),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="alert, edit, reply, resolve, confirm, digest"),
        sa.Column("day", sa.Date(), nullable=False, comment="the logical day it speaks of"),
        sa.Column(
            "thread", sa.Text(), nullable=False, comment="what the message is about: owner and target; edits share it"
        ),
        sa.Column("notifier", sa.String(length=60), nullable=False, comment="where it goes: slack, or a plug-in's"),
        sa.Column("channel", sa.Text(), nullable=False, comment="as configured; empty with a webhook or without Slack"),
        sa.Column("payload", sa.Text(), nullable=False, comment="JSON: text, blocks, and which incidents it is about"),
        sa.Column(
            "state", sa.String(length=10), nullable=False, comment="queued, sending, sent, failed, not_sent, superseded"
        ),
        sa.Column("parent_id", sa.String(length=36), comment="the delivery that this one edits or replies to"),
        sa.Column("sent_channel", sa.Text(), comment="where it is now; a channel of Slack by its ID"),
        sa.Column("sent_id", sa.Text(), comment="of the message there, if it can be edited and replied to"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.Column(
            "claimed_at",
            sa.DateTime(),
            comment="when the newest call for it began; null before the first",
        ),
        sa.Column("done_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        comment="every message, written before it is sent",
    )
    op.create_index(op.f("ix_delivery_kind_thread"), "delivery", ["kind", "thread"], unique=False)
    op.create_index(op.f("ix_delivery_parent_id"), "delivery", ["parent_id"], unique=False)
    op.create_index(op.f("ix_delivery_position"), "delivery", ["position"], unique=False)
    op.create_index(op.f("ix_delivery_state_position"), "delivery", ["state", "position"], unique=False)
    op.create_table(
        "duration",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False, comment="of the target's last audit, waiting excluded"),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_duration")),
        comment="by which targets are dealt to runs that take about as long",
    )
    op.create_table(
        "incident_day",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("code", sa.String(length=6), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.String(length=12),
            nullable=False,
            comment="watching, open, resolved; resolved without opened: it never opened",
        ),
        sa.Column("severity", sa.String(length=10), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("bad_runs", sa.Integer(), nullable=False),
        sa.Column("good_runs", sa.Integer(), nullable=False),
        sa.Column("first_seen", sa.Date(), nullable=False),
        sa.Column("opened", sa.Date()),
        sa.Column("resolved", sa.Date()),
        sa.Column(
            "finding",
            sa.LargeBinary(),
            nullable=False,
            comment="the newest finding: JSON as base_texts.Packer stores it",
        ),
        sa.PrimaryKeyConstraint("target", "fingerprint", "day", name=op.f("pk_incident_day")),
        comment="state of each incident after each audited day; auditing a day again starts from the day before",
    )
    op.create_index(op.f("ix_incident_day_target_day"), "incident_day", ["target", "day"], unique=False)
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
    op.create_table(
        "reaction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.String(length=36), nullable=False, comment="the message that it is on"),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="ack, mute"),
        sa.Column("person", sa.Text(), nullable=False, comment="Slack ID of who decided; the others only agree"),
        sa.Column("seen_at", sa.DateTime(), nullable=False),
        sa.Column(
            "gone_at",
            sa.DateTime(),
            comment="when it was seen to have been taken back; null: it is there",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reaction")),
        comment="reactions on messages that were read, so that each is acted upon once",
    )
    op.create_index(op.f("ix_reaction_delivery_id"), "reaction", ["delivery_id"], unique=False)
    op.create_table(
        "rule_outcome",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("evaluated", sa.Text(), nullable=False, comment="codes of the rules that passed or found something"),
        sa.Column("unknown", sa.Text(), nullable=False, comment="codes of the rules that lacked something"),
        sa.PrimaryKeyConstraint("target", "day", name=op.f("pk_rule_outcome")),
        comment="kept longer than the snapshot, while it shows since when a rule has been unknown",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("engine", sa.String(length=30), nullable=False),
        sa.Column("audited_at", sa.DateTime(), nullable=False),
        sa.Column("tsaudit_version", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column(
            "schema_complete", sa.Integer(), nullable=False, comment="1: databases, measurements, keys all measured"
        ),
        sa.Column("report_url", sa.Text()),
        sa.Column(
            "profile",
            sa.LargeBinary(),
            comment="JSON as base_texts.Packer stores it; null when the target could not be audited",
        ),
        sa.Column("result", sa.LargeBinary(), nullable=False, comment="JSON as base_texts.Packer stores it"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
        sa.UniqueConstraint("target", "day", name=op.f("uq_snapshot_target_day")),
        comment="one audit of one target; the newest of a day replaces the earlier ones",
    )
    op.create_table(
        "value_set",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="Subject.key of a tag; of a measurement: its series"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("whole", sa.Integer(), nullable=False, comment="1: the set with this day; 0: what this day changed"),
        sa.Column(
            "checksum", sa.BigInteger(), nullable=False, comment="of the set with this day; the next day must follow it"
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="tsaudit.analysis.values.stored_value_sets"),
        sa.PrimaryKeyConstraint("target", "subject", "day", name=op.f("pk_value_set")),
        comment="hashes of all values a tag had, and of all series, with the first and last day each was seen",
    )
    op.create_table(
        "figure",
        sa.Column("snapshot_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=30), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="Subject.key"),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("how", sa.String(length=10), nullable=False),
        sa.Column("standard_error", sa.Float()),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["snapshot.id"], name=op.f("fk_figure_snapshot_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("snapshot_id", "name", "subject", name=op.f("pk_figure")),
        comment="every number of a snapshot as a row of its own",
        sqlite_with_rowid=False,
    )
