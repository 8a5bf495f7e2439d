"""The tables of the history. New histories are created from them; after the first release, a change needs a migration
in `migrations/versions/` for the others.

Days are logical days. Instants are stored as UTC without a zone, because SQLite stores none.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

_PACKED: Final = "JSON as store.Packer packs it"

base_text: Final = Table(
    "base_text",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("month", Date, primary_key=True, comment="first day of the month"),
    Column("data", LargeBinary, nullable=False, comment="compressed"),
    Column(
        "root", Date, comment="month of the base from which this one is stored as a difference; null: stored by itself"
    ),
    comment="base texts, from which the snapshots and findings of a month are stored as differences",
)

snapshot: Final = Table(
    "snapshot",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("target", String(100), nullable=False),
    Column("day", Date, nullable=False),
    Column("engine", String(30), nullable=False),
    Column("audited_at", DateTime, nullable=False),
    Column("tsaudit_version", Text, nullable=False),
    Column("verdict", String(10), nullable=False),
    Column(
        "schema_complete", Integer, nullable=False, comment="1: databases, measurements, and keys were all measured"
    ),
    Column("report_url", Text),
    Column("profile", LargeBinary, comment=f"{_PACKED}; null when the target could not be audited"),
    Column("result", LargeBinary, nullable=False, comment=_PACKED),
    UniqueConstraint("target", "day"),
    comment="one audit of one target; a later audit of the same day replaces it",
)

rule_outcome: Final = Table(
    "rule_outcome",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("evaluated", Text, nullable=False, comment="codes of the rules that passed or found something"),
    Column("unknown", Text, nullable=False, comment="codes of the rules that failed or lacked something"),
    sqlite_with_rowid=False,
    comment="which rules ran; kept longer than the snapshot if it shows since when a rule has been unknown",
)

figure: Final = Table(
    "figure",
    metadata,
    Column("snapshot_id", ForeignKey("snapshot.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(30), primary_key=True),
    Column("subject", Text, primary_key=True, comment="Subject.key"),
    Column("value", Float, nullable=False),
    Column("how", String(10), nullable=False),
    Column("standard_error", Float),
    sqlite_with_rowid=False,
    comment="the numbers of a snapshot, one per row",
)

value_set: Final = Table(
    "value_set",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("subject", Text, primary_key=True, comment="Subject.key of a tag, or of a measurement for its series"),
    Column("day", Date, primary_key=True),
    Column(
        "whole",
        Integer,
        nullable=False,
        comment="1: data is the full set including this day; 0: only the day's changes",
    ),
    Column(
        "checksum",
        BigInteger,
        nullable=False,
        comment="checksum of the full set including this day, on which the next row builds",
    ),
    Column("data", LargeBinary, nullable=False, comment="tsaudit.analysis.values.stored_value_sets"),
    comment="hashes of all values of a tag, or of all series, with the first and the last day each was seen",
)

incident_day: Final = Table(
    "incident_day",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("fingerprint", String(16), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("code", String(6), nullable=False),
    Column("rule", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column(
        "state",
        String(12),
        nullable=False,
        comment="watching, open, or resolved; resolved with opened null: it never opened",
    ),
    Column("severity", String(10), nullable=False),
    Column("owner", Text, nullable=False),
    Column("bad_runs", Integer, nullable=False),
    Column("good_runs", Integer, nullable=False),
    Column("first_seen", Date, nullable=False),
    Column("opened", Date),
    Column("resolved", Date),
    Column("finding", LargeBinary, nullable=False, comment=f"the newest finding: {_PACKED}"),
    Index(None, "target", "day"),
    comment="state of each incident after each audited day; auditing a day again starts from the previous day",
)

decision: Final = Table(
    "decision",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String(16), nullable=False, index=True),
    Column("kind", String(10), nullable=False, comment="ack, mute, reopen"),
    Column("owner", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("until", Date, comment="last day on which it applies; null for ack (until resolved) and reopen"),
    Column(
        "severity",
        String(10),
        nullable=False,
        comment="severity of the incident at the decision; anything more severe is not covered",
    ),
    Column("opened", Date, comment="day the incident had opened; an ack applies only to that opening"),
    Column("observed", Float, comment="figure of the finding at the decision; null: it had none"),
    Column("bound", Float, comment="highest figure covered, or lowest if lower is worse; null: any"),
    Column("unit", Text, comment="unit of observed and bound"),
    Column("reaction_id", Integer, comment="reaction that made the decision; null: a command or another program"),
    comment="decisions of people about incidents; rows are kept, but only the newest of an incident applies",
)

delivery: Final = Table(
    "delivery",
    metadata,
    Column("id", String(36), primary_key=True, comment="UUID, which is also in the metadata of the Slack message"),
    Column("queued_at", DateTime, nullable=False),
    Column("position", Integer, nullable=False, comment="order of sending"),
    Column("kind", String(10), nullable=False, comment="alert, edit, reply, resolve, confirm, digest"),
    Column("day", Date, nullable=False, comment="the audited day that the message is about"),
    Column(
        "thread", Text, nullable=False, comment="owner and target that the message is about; edits have the same thread"
    ),
    Column("notifier", String(60), nullable=False, comment="slack, or the name of another notifier"),
    Column("channel", Text, nullable=False, comment="channel as configured; empty with a webhook or without Slack"),
    Column("payload", Text, nullable=False, comment="JSON: text, blocks, and the incidents that the message covers"),
    Column("state", String(10), nullable=False, comment="queued, sending, sent, failed, not_sent, superseded"),
    Column("parent_id", String(36), comment="the message that this one edits or replies to"),
    Column("sent_channel", Text, comment="channel that it was sent to; for Slack, the channel's ID"),
    Column("sent_id", Text, comment="ID of the sent message, if it can be edited and replied to"),
    Column("attempts", Integer, nullable=False, default=0),
    Column("last_error", Text),
    Column("claimed_at", DateTime, comment="when the newest call to send it began; null before the first"),
    Column("done_at", DateTime),
    Index(None, "kind", "thread"),
    Index(None, "parent_id"),
    Index(None, "position"),
    Index(None, "state", "position"),
    comment="messages, stored before they are sent",
)

reaction: Final = Table(
    "reaction",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("delivery_id", String(36), nullable=False, index=True, comment="the message with the reaction"),
    Column("kind", String(10), nullable=False, comment="ack, mute"),
    Column(
        "person",
        Text,
        nullable=False,
        comment="Slack ID of the person who decided; others with the same reaction only agree",
    ),
    Column("seen_at", DateTime, nullable=False),
    Column("gone_at", DateTime, comment="when it was found to be removed; null: it is still there"),
    comment="reactions that were read on messages, so that each is processed only once",
)

duration: Final = Table(
    "duration",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("seconds", Float, nullable=False, comment="duration of the target's last audit without waiting"),
    comment="used to distribute targets to runs that take about the same time",
)

lease: Final = Table(
    "lease",
    metadata,
    Column("name", String(32), primary_key=True, comment="history.lease.identity of the database"),
    Column("holder", String(32), nullable=False, comment="a new ID for each audit"),
    Column("beat", Integer, nullable=False, comment="changes while the holder is alive"),
    Column("process", String(100), nullable=False, comment="unique identity of the holder's process; empty: not known"),
    Column("who", Text, nullable=False, comment="process and machine, for people"),
    comment="databases being audited, so that no two audits query one at the same time",
)
