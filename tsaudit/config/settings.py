"""`tsaudit.yaml`: the file that the command line and the Dagster code location read.

Unknown keys are rejected. Secrets appear as `${NAME}` only and stay out of every message and file.
`tsaudit.config.file` loads the file and reports the problems in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from tsaudit.config.base import Model
from tsaudit.config.harm import Harm
from tsaudit.config.slack import Slack
from tsaudit.config.types import (
    Duration,
    EngineName,
    Finite,
    NotifierSettings,
    RuleSetting,
    Schedule,
    Secret,
    Size,
    web_address,
)
from tsaudit.model.profile import TableKind
from tsaudit.text import nearest

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
    """Maximum number of measurements to audit; the rest is reported as a gap."""
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
    (PostgreSQL); 0 for no limit.
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
    """A short name that does not change: history, incidents, and Dagster assets use it as their key."""
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
    only if its contents have not changed and the window contains the same rows. Audits of past days neither reuse
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
    """Number of consecutive audits that could not evaluate rules after which that becomes an incident (`TGT002`)."""


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
    the notifier if the entry has another name, so that there can be several entries for one notifier.
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

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        used: list[tuple[Path, str | None]] = [(("targets", i, "owner"), t.owner) for i, t in enumerate(self.targets)]
        used += [(("routes", i, "owner"), r.owner) for i, r in enumerate(self.routes)]
        used += [
            (("targets", i, "measurements", pattern, "owner"), m.owner)
            for i, t in enumerate(self.targets)
            for pattern, m in t.measurements.items()
        ]
        names: list[tuple[Path, str]] = [(("targets", i, "name"), t.name) for i, t in enumerate(self.targets)]
        for _, problem in inconsistencies(self.owners, names, [(place, o) for place, o in used if o]):
            raise ValueError(problem)
        return self


def inconsistencies(
    owners: Collection[str], names: Iterable[tuple[Path, str]], used: Iterable[tuple[Path, str]]
) -> Iterator[tuple[Path, str]]:
    """Each place in a file that contradicts another one, with the problem.

    `names`: the names of the targets, `used`: the owners named outside `owners`; both with their places.
    """
    if "default" not in owners:
        yield ("owners",), "needs an entry `default` for findings without another owner"
    seen: set[str] = set()
    for place, name in names:
        if name in seen:
            yield place, f"two targets are named `{name}`; names must be unique, because history is stored under them"
        seen.add(name)
    for place, owner in used:
        if owner not in owners:
            near = nearest(owner, owners) or f"; add `{owner}:` there, with its channel"
            yield place, f"owner `{owner}` is not defined under `owners`{near}"
