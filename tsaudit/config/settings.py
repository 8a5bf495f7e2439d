"""`tsaudit.yaml`: the file that the command line and the Dagster code location read.

Unknown keys are rejected. Secrets appear as `${NAME}` only and stay out of every message and file.
`tsaudit.config.file` loads the file and reports the problems in it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from tsaudit.config.types import (
    Duration,
    EngineName,
    Finite,
    Model,
    NotifierSettings,
    Reaction,
    RuleSetting,
    Schedule,
    Secret,
    Size,
    SlackSecret,
    web_address,
)
from tsaudit.model.figures import TableKind

Share = Annotated[float, Field(gt=0, le=1)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Harm(Model):
    """The costs from which a finding is a warning, or critical. Each default is explained."""

    horizon: Duration = timedelta(days=365)
    """How far ahead the growth of bytes and series is evaluated at the present rate, if data is kept that long: budgets
    are usually made for a year.
    """
    limit_warning: Share = 0.8
    """Share of a limit that is a warning: influxd itself begins to log at 80%."""
    limit_critical: Share = 0.95
    """Share of a limit that is critical: the remaining share can be used up on a single bad day."""
    warning_days: Annotated[int, Field(ge=0)] = 90
    """Days until a limit is reached that are a warning, and how far ahead names and money are evaluated: a quarter is
    enough time to change a writer.
    """
    critical_days: Annotated[int, Field(ge=0)] = 14
    """Days until a limit is reached that are critical: less than most teams need to release and roll out a change."""
    min_series: _Amount = 100_000
    """Avoidable series at the horizon that are a warning: fewer take less than 100 MB of memory, and about half a
    second of a query over all of them.
    """
    min_unmeasured_series: _Amount = 1_000
    """Avoidable series today that are a warning while their rate is not known: a leak should be noticed while it is
    small.
    """
    min_series_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the database's series: a smaller share does not make the database slow."""
    min_names: _Amount = 1_000
    """Measurements, tables, or collections of one family that are a warning: each costs memory, files, and catalog
    entries.
    """
    min_memory: Size = 512_000_000
    """Memory taken by avoidable series within `critical_days` that is critical, because a server may run
    out of memory.
    """
    max_memory: Size | None = None
    """Memory of the database server. If it is not set, series are never critical, because no server reports
    its memory.
    """
    min_bytes: Size = 100_000_000
    """Avoidable bytes at the horizon that are a warning: a smaller amount is not worth a DBA's time."""
    min_bytes_by_writer: Size = 1_000_000_000
    """Avoidable bytes at the horizon that are a warning where only a changed writer can save them, by rows of another
    form, or fewer of them: that costs more than dropping an index. People who graded databases without knowing the
    rules drew the line here.
    """
    min_bytes_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the table and its indexes: a smaller share does not fill the disk."""
    min_bytes_share_by_writer: Annotated[float, Field(ge=0, le=1)] = 0.2
    """The same of what only a changed writer can save: a tenth is no reason to change a program, which is often not
    one's own.
    """
    max_bytes: Size | None = None
    """Disk space for data and indexes. Only MongoDB reports the size of its disk."""
    min_money: _Amount = 10
    """Avoidable dollars a month that are a warning: less than the cost of a meeting about them."""
    min_money_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the query cost."""
    min_reads: _Amount = 500_000_000
    """Unnecessarily read rows a day that are a warning: from memory, fewer take less than 20 seconds of one processor a
    day.
    """
    max_rejected_share: Annotated[float, Field(ge=0, le=1)] = 0.001
    """Share of the points sent that is critical if they are rejected."""
    max_overwritten_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of the rows read that is critical if they were overwritten."""


class Reactions(Model):
    """What reactions on a message in Slack do. Needs a bot token with the scope `reactions:read`."""

    read: bool = True
    """Whether each audit reads reactions."""
    ack: Reaction = "eyes"
    """The reaction that acknowledges the open incidents of a message; "" for none."""
    mute: Reaction = "zzz"
    """The reaction that mutes the open incidents of a message; "" for none."""
    mute_for: Duration = timedelta(days=7)
    """How long a reaction mutes incidents."""
    most_asked: int = Field(50, ge=1, le=1000)
    """Maximum number of messages whose reactions are read at a time; Slack allows about 50 such calls a minute."""

    @property
    def kinds(self) -> dict[str, str]:
        """Name of each reaction that has an effect to the effect: `ack` or `mute`."""
        return {name: kind for name, kind in ((self.ack, "ack"), (self.mute, "mute")) if name}

    @property
    def mute_days(self) -> int:
        """Number of days that a reaction mutes; part of a day counts as a day."""
        return -(-self.mute_for // timedelta(days=1))

    @model_validator(mode="after")
    def _different(self) -> Reactions:
        if self.ack and self.ack == self.mute:
            raise ValueError("ack and mute must be two different reactions")
        return self


class Slack(Model):
    """How alerts are sent to Slack. With neither token nor webhook, they are printed in the terminal and stored as "not
    sent".
    """

    token: SlackSecret | None = None
    """Bot token with `chat:write` (and `channels:history`, to check after a crash which messages arrived; and
    `reactions:read`, to act on reactions).
    """
    webhook: SlackSecret | None = None
    """Incoming webhook: cannot edit, reply in threads, or read messages, so a crash may duplicate a message."""
    severity: Literal["warning", "critical"] = "warning"
    """The lowest severity that is sent to Slack: with `critical`, warnings are in the report, and with other notifiers.
    """
    digest_weekday: Literal[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "daily", "never"
    ] = "monday"
    """The day of the digest: a weekday, `daily`, or `never`. The digest is one message per owner with the incidents
    that are still open on all targets, if any. It is sent once all targets due on that day have been audited, on that
    day or not at all.
    """
    reactions: Reactions = Reactions()
    """What reactions on messages do."""
    base_url: str = "https://slack.com/api/"
    """Base URL of Slack's web API; change it for a proxy or a test."""
    deadline_s: Finite = Field(300, gt=0)
    """Time limit for sending in one run, in seconds, over all channels; the rest stays queued for the next run."""

    @field_validator("webhook")
    @classmethod
    def _address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("https://", "http://", "${")):
            raise ValueError("must start with https://, as shown by Slack")
        return value

    @field_validator("base_url")
    @classmethod
    def _folder(cls, value: str) -> str:
        return web_address(value).rstrip("/") + "/"

    @model_validator(mode="after")
    def _one_transport(self) -> Slack:
        if self.token and self.webhook:
            raise ValueError("set a token or a webhook, not both")
        return self


Path = tuple[int | str, ...]
"""Path from the top of the file to one value: keys and list positions."""


class Budget(Model):
    """How many resources of the audited database one audit may use. Whatever exceeds the budget is reported as a gap,
    never estimated.
    """

    statement_timeout_s: Finite = Field(60, gt=0)
    """Time limit of one statement, in seconds. It is then canceled, also on the server if the engine supports it."""
    deadline_s: Finite = Field(1800, gt=0)
    """Time limit of the whole audit of the target, in seconds, including connecting. Enforced by the wall clock, within
    10 s.
    """
    concurrency: int = Field(1, ge=1, le=16)
    """Number of concurrent statements."""
    max_measurements: int = Field(10_000, ge=1)
    """Maximum number of measurements whose columns and data are queried; of the others, only the names are audited, and
    the rest is reported as a gap.
    """
    max_series: int = Field(2_000_000, ge=1)
    """Maximum number of series of a measurement that are all used; if there are more, an even sample is used, and
    figures are estimates.
    """
    max_listed: int = Field(20_000_000, ge=1)
    """Number of tag sets after which a listing is stopped, which leaves a gap."""
    max_family: int = Field(24, ge=3)
    """For collections whose names differ only in a period or a number: how many of them are measured to represent the
    others.
    """
    max_rows: int = Field(10_000, ge=100)
    """Maximum number of rows in a row sample. All samples of a target together have at most 500,000 rows, or 1,000 for
    each measurement if that is more.
    """
    max_scan_rows: int = Field(1_000_000, ge=0)
    """Maximum number of rows that a statement may read from a table if the engine's statistics can provide the rest
    (PostgreSQL), or to find copies of rows (SQL) or the largest document (MongoDB); 0 for no limit.
    """
    max_bytes_scanned: Size | None = Field(None, ge=1)
    """Maximum number of bytes that all statements of an audit may scan or be billed for, whichever is more, as counted
    by the engine (Timestream); empty for no limit.
    """


class Columns(Model):
    """The kind of a table and the roles of its columns, if tsaudit should not infer them (SQL engines).

    `tsaudit check` and the report show what it inferred, as an entry to edit and paste.
    """

    kind: TableKind | None = None
    """The kind of rows: `series`, `events`, `reference`, `entity`, `queue`, `attribute_value`, or `other`. Rules about
    tags and series do not evaluate a table of kind `other`.
    """
    time: str | None = None
    """The time column."""
    tags: tuple[str, ...] = ()
    """Columns that identify the source of a row."""
    fields: tuple[str, ...] = ()
    """Columns with measured values."""


Limits = dict[str, Finite]
"""`<rule name>.<threshold>` to its value, e.g. `high-series-cardinality.max_series: 100000`."""


Rules = dict[str, RuleSetting]
"""Code or name of a rule, or a pattern, to `off`, `on`, or the severity of its findings: `note`, `warning`, or
`critical`. A code or name takes precedence over a pattern, and an earlier pattern over a later one.
"""


class MeasurementOverride(Model):
    """Settings for the measurements that match a pattern."""

    rules: Rules = {}
    """Rules switched off or on for these measurements, or given another severity."""
    limits: Limits = {}
    """Limits for these measurements."""
    owner: str | None = None
    """The owner of findings in these measurements."""


class Target(Model):
    """One database server, account, or file to audit."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100, examples=["metrics"])
    """A short name that does not change: history, incidents, and Dagster assets use it as their key. If another
    engine takes its place, the audit fails until the target has another name.
    """
    engine: EngineName
    """The kind of database."""
    url: Secret
    """The address: a SQLAlchemy URL, or http(s)://host:port. Write credentials as `${NAME}`."""
    username: str | None = None
    """The user name, if the engine takes it separately from the address."""
    password: Secret | None = None
    """The password, as `${NAME}`. For InfluxDB 2 and 3, the token."""
    databases: tuple[str, ...] = ()
    """Databases, buckets, or schemas to audit; empty for all except the engine's own. On InfluxDB 1.x, `shop` means all
    retention policies of the database that contain data, and `shop/raw` means one of them.
    """
    include: tuple[str, ...] = ("*",)
    """Patterns of measurement names to audit."""
    exclude: tuple[str, ...] = ()
    """Patterns of measurement names to skip; takes precedence over `include`."""
    window: Duration = timedelta(days=30)
    """How far back rows are read."""
    max_age: Duration = timedelta(days=7)
    """How old the results of a measurement's expensive queries may become before it is measured again. They are reused
    only if its contents have not changed and the window contains the same rows; on engines with an index of series,
    only if no series came within a week, because as many may have come as have gone. Audits of past days neither reuse
    results nor provide them.
    """
    budget: Budget = Budget()
    """How much of the database one audit may use."""
    columns: dict[str, Columns] = {}
    """Measurement name to the roles of its columns (SQL engines)."""
    plan: str | None = None
    """A named set of limits, e.g. `influxdb-cloud-free`; `tsaudit rules --plans` lists them."""
    rules: Rules = {}
    """Rules switched off or on for this target, or given another severity."""
    limits: Limits = {}
    """Limits for this target."""
    harm: Harm = Harm()
    """The costs from which a finding in this target is a warning, or critical, where they differ from the general
    `harm`.
    """
    measurements: dict[str, MeasurementOverride] = {}
    """Pattern of measurement names to settings; the first that matches applies."""
    owner: str | None = None
    """The owner of its findings, unless a route or a measurement sets another one."""
    schedule: Schedule = "0 6 * * *"
    """When Dagster audits the target: a cron expression in UTC, or `never` to audit it only on request."""
    run_tags: dict[str, str] = {}
    """Tags of the target's runs in Dagster, for example the queue of the workers that can reach it."""
    group: str | None = None
    """Targets with the same group share a Dagster asset if `granularity` is `group`."""
    asset_key: tuple[str, ...] | None = None
    """Key of the owner's own Dagster asset, to which the observation and the checks of each audit are attached."""
    _unset: str = PrivateAttr("")

    @property
    def unset(self) -> str:
        """The variable that is not set, by place, so that the target cannot be connected to; empty if all are."""
        return self._unset

    def refuse(self, why: str) -> None:
        """Keep the target from being connected to."""
        self._unset = why


class Owner(Model):
    """A team that receives messages."""

    channel: str | None = Field(None, examples=["#data"])
    """The Slack channel, `#name` or ID; ignored with a webhook, which has a fixed channel."""
    mention: str | None = None
    """Slack ID of a user or user group to mention when something becomes critical: `U...` or `S...`."""
    email: str | None = None
    """E-mail address shown as the owner in Dagster."""

    @field_validator("mention")
    @classmethod
    def _slack_id(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[UWS][A-Z0-9]+|\$\{\w+\}", value):
            raise ValueError("expected the ID of a Slack user (U...) or user group (S...), not a name")
        return value


class Route(Model):
    """Assigns findings to an owner. All given patterns must match; the first route that matches wins."""

    owner: str = Field(examples=["default"])
    """A name under `owners`."""
    targets: tuple[str, ...] = ("*",)
    """Patterns of target names."""
    measurements: tuple[str, ...] = ("*",)
    """Patterns of measurement names."""
    rules: tuple[str, ...] = ("*",)
    """Patterns of rule codes or names."""


class Incidents(Model):
    """When a finding becomes an incident, and when an incident ends."""

    open_after: int = Field(1, ge=1)
    """Number of consecutive audits with the finding after which an incident opens."""
    resolve_after: int = Field(2, ge=1)
    """Number of consecutive audits without the finding after which an incident is resolved."""
    unknown_after: int = Field(3, ge=1)
    """Number of consecutive audits that could not evaluate rules after which that becomes an incident (`TGT002`). It is
    one at once if the rules worked in the audit before, and lack a permission or a larger budget now.
    """


class Report(Model):
    """Where reports are written, and at which address people can read them."""

    folder: str = ".tsaudit/reports"
    """A folder, or a URL: `s3://bucket/tsaudit`, or any other that fsspec knows."""
    base_url: str | None = None
    """The address at which people can open the folder; without it, links are file paths."""
    values: Literal["redacted", "full"] = "redacted"
    """How values read from a database are shown in reports and messages."""
    keep_days: int | None = Field(None, ge=1)
    """Number of days before its newest audit for which a target's reports are kept; by default, all are kept."""
    mode: str = "0640"
    """Permissions of report files, and of profiles from `tsaudit collect -o`: four digits, as for chmod."""

    @field_validator("mode")
    @classmethod
    def _permissions(cls, value: str) -> str:
        if value.startswith("${"):
            return value
        # The leading zero is required: without quotes, some YAML readers would otherwise read a different number.
        if not re.fullmatch(r"0[0-7]{3}", value):
            raise ValueError('expected four digits such as "0640" or "0600", in quotes')
        if int(value, 8) & 0o600 != 0o600:
            raise ValueError("must let the owner read and write: 06..")
        return value

    @property
    def permissions(self) -> int:
        """`mode` as a number."""
        return int(self.mode, 8)

    @field_validator("base_url")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        return web_address(value).rstrip("/") if value else value


class Settings(Model):
    """The complete `tsaudit.yaml`."""

    history: Secret = SecretStr("sqlite:///.tsaudit/history.db")
    """SQLAlchemy URL of tsaudit's own store (SQLite or PostgreSQL); never inside an audited database."""
    report: Report = Report()
    """Where reports are written and at which address they can be read."""
    slack: Slack = Slack()
    """How alerts are sent to Slack."""
    notifiers: dict[str, NotifierSettings] = {}
    """Other notifiers: `apprise`, `alertmanager`, and notifiers of other packages, each with its settings. `use:` names
    the notifier if the entry has another name, so that there can be several entries for one notifier. `severity:
    critical` leaves out warnings.
    """
    owners: dict[str, Owner] = {"default": Owner()}
    """Owners by name; `default` is the owner of everything that has no other owner."""
    routes: tuple[Route, ...] = ()
    """Which owner gets which findings; the first matching route wins."""
    incidents: Incidents = Incidents()
    """When a finding becomes an incident, and when an incident ends."""
    rules: Rules = {}
    """Rules switched off, or given another severity, for all targets."""
    limits: Limits = {}
    """Limits for all targets."""
    harm: Harm = Harm()
    """The costs from which a finding is a warning, or critical."""
    targets: tuple[Target, ...] = Field(min_length=1)
    """What to audit."""

    @property
    def notifies(self) -> bool:
        """Whether messages are sent; otherwise they are printed."""
        return bool(self.slack.token or self.slack.webhook or self.notifiers)
