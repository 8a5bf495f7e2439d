"""The tables of the history. A change here needs a migration in `migrations/versions/`; a test compares the two.

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

_PACKED: Final = "JSON as base_texts.Packer stores it"

base_text: Final = Table(
    "base_text",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("month", Date, primary_key=True, comment="its first day"),
    Column("data", LargeBinary, nullable=False, comment="compressed"),
    Column("root", Date, comment="month of the base that this one is a difference from; null: it is stored by itself"),
    comment="text that a month's snapshots and findings are stored as differences from",
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
    Column("schema_complete", Integer, nullable=False, comment="1: databases, measurements, keys all measured"),
    Column("report_url", Text),
    Column("profile", LargeBinary, comment=f"{_PACKED}; null when the target could not be audited"),
    Column("result", LargeBinary, nullable=False, comment=_PACKED),
    UniqueConstraint("target", "day"),
    comment="one audit of one target; the newest of a day replaces the earlier ones",
)

rule_outcome: Final = Table(
    "rule_outcome",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("evaluated", Text, nullable=False, comment="codes of the rules that passed or found something"),
    Column("unknown", Text, nullable=False, comment="codes of the rules that lacked something"),
    sqlite_with_rowid=False,
    comment="kept longer than the snapshot, while it shows since when a rule has been unknown",
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
    comment="every number of a snapshot as a row of its own",
)

value_set: Final = Table(
    "value_set",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("subject", Text, primary_key=True, comment="Subject.key of a tag; of a measurement: its series"),
    Column("day", Date, primary_key=True),
    Column("whole", Integer, nullable=False, comment="1: the set with this day; 0: what this day changed"),
    Column("checksum", BigInteger, nullable=False, comment="of the set with this day; the next day must follow it"),
    Column("data", LargeBinary, nullable=False, comment="tsaudit.analysis.values.stored_value_sets"),
    comment="hashes of all values a tag had, and of all series, with the first and last day each was seen",
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
        comment="watching, open, resolved; resolved without opened: it never opened",
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
    comment="state of each incident after each audited day; auditing a day again starts from the day before",
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
    Column("until", Date, comment="last day it holds; null for ack (until resolved) and reopen"),
    Column("severity", String(10), nullable=False, comment="of the incident when it was made; it covers no worse"),
    Column("opened", Date, comment="when the incident had opened; an ack ends with that opening"),
    Column("observed", Float, comment="figure of the finding when it was made; null: it had none"),
    Column("bound", Float, comment="the figure it covers at most, or at least if less is worse; null: any"),
    Column("unit", Text, comment="of both figures"),
    Column("reaction_id", Integer, comment="reaction that made it; null: the command line or another program"),
    comment="what people said of an incident; rows stay, and only the newest counts",
)

delivery: Final = Table(
    "delivery",
    metadata,
    Column("id", String(36), primary_key=True, comment="UUID; travels in the Slack message's metadata"),
    Column("queued_at", DateTime, nullable=False),
    Column("position", Integer, nullable=False, comment="order of sending"),
    Column("kind", String(10), nullable=False, comment="alert, edit, reply, resolve, confirm, digest"),
    Column("day", Date, nullable=False, comment="the logical day it speaks of"),
    Column("thread", Text, nullable=False, comment="what the message is about: owner and target; edits share it"),
    Column("notifier", String(60), nullable=False, comment="where it goes: slack, or a plug-in's"),
    Column("channel", Text, nullable=False, comment="as configured; empty with a webhook or without Slack"),
    Column("payload", Text, nullable=False, comment="JSON: text, blocks, and which incidents it is about"),
    Column("state", String(10), nullable=False, comment="queued, sending, sent, failed, not_sent, superseded"),
    Column("parent_id", String(36), comment="the delivery that this one edits or replies to"),
    Column("sent_channel", Text, comment="where it is now; a channel of Slack by its ID"),
    Column("sent_id", Text, comment="of the message there, if it can be edited and replied to"),
    Column("attempts", Integer, nullable=False, default=0),
    Column("last_error", Text),
    Column("claimed_at", DateTime, comment="when the newest call for it began; null before the first"),
    Column("done_at", DateTime),
    Index(None, "kind", "thread"),
    Index(None, "parent_id"),
    Index(None, "position"),
    Index(None, "state", "position"),
    comment="every message, written before it is sent",
)

reaction: Final = Table(
    "reaction",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("delivery_id", String(36), nullable=False, index=True, comment="the message that it is on"),
    Column("kind", String(10), nullable=False, comment="ack, mute"),
    Column("person", Text, nullable=False, comment="Slack ID of who decided; the others only agree"),
    Column("seen_at", DateTime, nullable=False),
    Column("gone_at", DateTime, comment="when it was seen to have been taken back; null: it is there"),
    comment="reactions on messages that were read, so that each is acted upon once",
)

duration: Final = Table(
    "duration",
    metadata,
    Column("target", String(100), primary_key=True),
    Column("seconds", Float, nullable=False, comment="of the target's last audit, waiting excluded"),
    comment="by which targets are dealt to runs that take about as long",
)

lease: Final = Table(
    "lease",
    metadata,
    Column("name", String(32), primary_key=True, comment="history.lease.identity of the database"),
    Column("holder", String(32), nullable=False, comment="a new one for each audit"),
    Column("beat", Integer, nullable=False, comment="moves while the holder is alive"),
    Column("process", String(100), nullable=False, comment="of the holder, unlike any other; empty: not known"),
    Column("who", Text, nullable=False, comment="process and machine, for people"),
    comment="which databases are being audited, so that no two audits ask one at once",
)
