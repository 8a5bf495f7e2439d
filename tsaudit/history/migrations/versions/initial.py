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
        sa.Column("month", sa.Date(), nullable=False, comment="first day of the month"),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="compressed"),
        sa.Column(
            "root",
            sa.Date(),
            comment="month of the base from which this one is stored as a difference; null: stored by itself",
        ),
        sa.PrimaryKeyConstraint("target", "month", name=op.f("pk_base_text")),
        comment="base texts, from which the snapshots and findings of a month are stored as differences",
    )
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="ack, mute, reopen"),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("until", sa.Date(), comment="last day on which it applies; null for ack (until resolved) and reopen"),
        sa.Column(
            "severity",
            sa.String(length=10),
            nullable=False,
            comment="severity of the incident at the decision; anything more severe is not covered",
        ),
        sa.Column("opened", sa.Date(), comment="day the incident had opened; an ack applies only to that opening"),
        sa.Column("observed", sa.Float(), comment="figure of the finding at the decision; null: it had none"),
        sa.Column(
            "bound",
            sa.Float(),
            comment="highest figure covered, or lowest if lower is worse; null: any",
        ),
        sa.Column("unit", sa.Text(), comment="unit of observed and bound"),
        sa.Column(
            "reaction_id",
            sa.Integer(),
            comment="reaction that made the decision; null: a command or another program",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
        comment="decisions of people about incidents; rows are kept, but only the newest of an incident applies",
    )
    op.create_index(op.f("ix_decision_fingerprint"), "decision", ["fingerprint"], unique=False)
    op.create_table(
        "delivery",
        sa.Column(
            "id",
            sa.String(length=36),
            nullable=False,
            comment="UUID, which is also in the metadata of the Slack message",
        ),
        sa.Column("queued_at", sa.DateTime(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False, comment="order of sending"),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="alert, edit, reply, resolve, confirm, digest"),
        sa.Column("day", sa.Date(), nullable=False, comment="the audited day that the message is about"),
        sa.Column(
            "thread",
            sa.Text(),
            nullable=False,
            comment="owner and target that the message is about; edits have the same thread",
        ),
        sa.Column("notifier", sa.String(length=60), nullable=False, comment="slack, or the name of another notifier"),
        sa.Column(
            "channel", sa.Text(), nullable=False, comment="channel as configured; empty with a webhook or without Slack"
        ),
        sa.Column(
            "payload",
            sa.Text(),
            nullable=False,
            comment="JSON: text, blocks, and the incidents that the message covers",
        ),
        sa.Column(
            "state", sa.String(length=10), nullable=False, comment="queued, sending, sent, failed, not_sent, superseded"
        ),
        sa.Column("parent_id", sa.String(length=36), comment="the message that this one edits or replies to"),
        sa.Column("sent_channel", sa.Text(), comment="channel that it was sent to; for Slack, the channel's ID"),
        sa.Column("sent_id", sa.Text(), comment="ID of the sent message, if it can be edited and replied to"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.Column(
            "claimed_at",
            sa.DateTime(),
            comment="when the newest call to send it began; null before the first",
        ),
        sa.Column("done_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        comment="messages, stored before they are sent",
    )
    op.create_index(op.f("ix_delivery_kind_thread"), "delivery", ["kind", "thread"], unique=False)
    op.create_index(op.f("ix_delivery_parent_id"), "delivery", ["parent_id"], unique=False)
    op.create_index(op.f("ix_delivery_position"), "delivery", ["position"], unique=False)
    op.create_index(op.f("ix_delivery_state_position"), "delivery", ["state", "position"], unique=False)
    op.create_table(
        "duration",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False, comment="duration of the target's last audit without waiting"),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_duration")),
        comment="used to distribute targets to runs that take about the same time",
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
            comment="watching, open, or resolved; resolved with opened null: it never opened",
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
        comment="state of each incident after each audited day; auditing a day again starts from the previous day",
    )
    op.create_index(op.f("ix_incident_day_target_day"), "incident_day", ["target", "day"], unique=False)
    op.create_table(
        "lease",
        sa.Column("name", sa.String(length=32), nullable=False, comment="history.lease.identity of the database"),
        sa.Column("holder", sa.String(length=32), nullable=False, comment="a new ID for each audit"),
        sa.Column("beat", sa.Integer(), nullable=False, comment="changes while the holder is alive"),
        sa.Column(
            "process",
            sa.String(length=100),
            nullable=False,
            comment="unique identity of the holder's process; empty: not known",
        ),
        sa.Column("who", sa.Text(), nullable=False, comment="process and machine, for people"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
        comment="databases being audited, so that no two audits query one at the same time",
    )
    op.create_table(
        "reaction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.String(length=36), nullable=False, comment="the message with the reaction"),
        sa.Column("kind", sa.String(length=10), nullable=False, comment="ack, mute"),
        sa.Column(
            "person",
            sa.Text(),
            nullable=False,
            comment="Slack ID of the person who decided; others with the same reaction only agree",
        ),
        sa.Column("seen_at", sa.DateTime(), nullable=False),
        sa.Column(
            "gone_at",
            sa.DateTime(),
            comment="when it was found to be removed; null: it is still there",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reaction")),
        comment="reactions that were read on messages, so that each is processed only once",
    )
    op.create_index(op.f("ix_reaction_delivery_id"), "reaction", ["delivery_id"], unique=False)
    op.create_table(
        "rule_outcome",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("evaluated", sa.Text(), nullable=False, comment="codes of the rules that passed or found something"),
        sa.Column("unknown", sa.Text(), nullable=False, comment="codes of the rules that failed or lacked something"),
        sa.PrimaryKeyConstraint("target", "day", name=op.f("pk_rule_outcome")),
        comment="which rules ran; kept longer than the snapshot if it shows since when a rule has been unknown",
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
            "schema_complete",
            sa.Integer(),
            nullable=False,
            comment="1: databases, measurements, and keys were all measured",
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
        comment="one audit of one target; a later audit of the same day replaces it",
    )
    op.create_table(
        "value_set",
        sa.Column("target", sa.String(length=100), nullable=False),
        sa.Column(
            "subject", sa.Text(), nullable=False, comment="Subject.key of a tag, or of a measurement for its series"
        ),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "whole",
            sa.Integer(),
            nullable=False,
            comment="1: data is the full set including this day; 0: only the day's changes",
        ),
        sa.Column(
            "checksum",
            sa.BigInteger(),
            nullable=False,
            comment="checksum of the full set including this day, on which the next row builds",
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="tsaudit.analysis.values.stored_value_sets"),
        sa.PrimaryKeyConstraint("target", "subject", "day", name=op.f("pk_value_set")),
        comment="hashes of all values of a tag, or of all series, with the first and the last day each was seen",
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
        comment="the numbers of a snapshot, one per row",
        sqlite_with_rowid=False,
    )
