"""`tsaudit.yaml`: the one file that the command line and the Dagster code location read.

Unknown keys are refused. Secrets appear as `${NAME}` only and stay out of every message and file. `tsaudit.config.file`
loads it and says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from tsaudit.config import cron
from tsaudit.config.types import Duration, EngineName, Finite, RuleSetting, Secret, SinkSettings, SlackSecret

Path = tuple[int | str, ...]
"""Keys and list positions from the top of the file to one value."""


class Model(BaseModel):
    """Base of all configuration: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, data: Any) -> Any:
        """A key with nothing behind it, all its lines commented out say, is a key that is not there."""
        if data is None:
            return {}
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data


class Budget(Model):
    """How much of the audited database one audit may use. What does not fit is a gap, never a guess."""

    statement_timeout_s: Finite = Field(60, gt=0)
    """Seconds one statement may take before it is cancelled, on the server too where the engine can."""
    deadline_s: Finite = Field(1800, gt=0)
    """Seconds the whole audit of the target may take, connecting included. Holds by the wall clock, within 10 s."""
    concurrency: int = Field(1, ge=1, le=16)
    """Statements at once."""
    max_measurements: int = Field(10_000, ge=1)
    """Measurements looked at; the rest is a gap."""
    max_series: int = Field(2_000_000, ge=1)
    """Series of a measurement up to which all are looked at; of more an even sample is, and figures are estimates."""
    max_listed: int = Field(20_000_000, ge=1)
    """Tag sets one listing may return before it is broken off, which leaves a gap."""
    max_family: int = Field(24, ge=3)
    """Of collections whose names differ in a period or a number only, how many are measured one by one; they stand for
    the rest."""
    max_rows: int = Field(10_000, ge=100)
    """Rows one row sample may return."""
    max_scan_rows: int = Field(1_000_000, ge=0)
    """Rows one statement may read of a table where the engine's statistics can stand in for the rest (PostgreSQL);
    0 for no limit."""
    max_bytes_scanned: int | None = Field(None, ge=1)
    """Bytes all statements of an audit may scan, or be charged for where that is more, as the engine itself counts them
    (Timestream); empty for no limit."""


class Columns(Model):
    """Which columns of a table are what, where tsaudit should not infer it (SQL engines)."""

    time: str | None = None
    """The time column."""
    tags: tuple[str, ...] = ()
    """Columns that identify the source of a row."""
    fields: tuple[str, ...] = ()
    """Columns that hold what was measured."""


Limits = dict[str, Finite]
"""`<rule name>.<threshold>` to its value, e.g. `high-series-cardinality.max_series: 100000`."""


Rules = dict[str, RuleSetting]
"""Code or name of a rule, or a pattern of them, to `off`, `on`, or the severity of its findings: `info`, `warn`,
`critical`. A code or name goes before a pattern, the first pattern before the next."""


class MeasurementOverride(Model):
    """Settings for the measurements that a pattern matches."""

    rules: Rules = {}
    """Rules switched off or on for these measurements, or with another severity."""
    limits: Limits = {}
    """Limits for these measurements."""
    owner: str | None = None
    """Who is told of findings in them."""


class Target(Model):
    """One database server, account or file to audit."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    """Short and stable: history, incidents and Dagster assets are kept under it."""
    engine: EngineName
    """What kind of database it is."""
    url: Secret
    """Where it is: a SQLAlchemy URL, or http(s)://host:port. Put credentials in as `${NAME}`."""
    username: str | None = None
    """Where the engine takes it apart from the address."""
    password: Secret | None = None
    """As `${NAME}`. For InfluxDB 2 and 3 the token."""
    databases: tuple[str, ...] = ()
    """Databases, buckets or schemas to audit; empty for all that are not the engine's own. On InfluxDB 1.x `shop` means
    all retention policies of a database that hold data, `shop/raw` one of them."""
    include: tuple[str, ...] = ("*",)
    """Patterns of measurement names to audit."""
    exclude: tuple[str, ...] = ()
    """Patterns of measurement names to leave out; wins over `include`."""
    window: Duration = timedelta(days=30)
    """How far back facts about rows look."""
    max_age: Duration = timedelta(days=7)
    """How old expensive facts of a measurement may become before they are measured anew. They are kept only while its
    contents have not changed and the window holds the same rows; an audit of a past day keeps none and passes none on.
    """
    budget: Budget = Budget()
    """How much of the database one audit may use."""
    columns: dict[str, Columns] = {}
    """Measurement name to the roles of its columns (SQL engines)."""
    plan: str | None = None
    """A named set of limits, e.g. `influxdb-cloud-free`; `tsaudit rules --plans` lists them."""
    rules: Rules = {}
    """Rules switched off or on for this target, or with another severity."""
    limits: Limits = {}
    """Limits for this target."""
    measurements: dict[str, MeasurementOverride] = {}
    """Pattern of measurement names to settings; the first that matches applies."""
    owner: str | None = None
    """Who is told, unless a route or a measurement says otherwise."""
    schedule: Annotated[str, AfterValidator(cron.check)] = "0 6 * * *"
    """When Dagster audits it: a cron line, UTC."""
    group: str | None = None
    """Targets of one group share a Dagster asset when granularity is `group`."""
    asset_key: tuple[str, ...] | None = None
    """Key of the owner's own Dagster asset; audits are recorded as observations on it."""


class Slack(Model):
    """Where alerts go. With neither token nor webhook they are shown in the terminal and kept as "not sent"."""

    token: SlackSecret | None = None
    """Bot token with `chat:write` (and `channels:history`, to look up what a crash left in doubt)."""
    webhook: SlackSecret | None = None
    """Incoming webhook: cannot edit, thread or be read back, so a crash may double a message."""
    digest: bool = True
    """Once all targets due on a day were audited, one message per owner with all that is open; none for nothing."""
    base_url: str = "https://slack.com/api/"
    """Of Slack's web API; change it for a proxy or a test."""
    deadline_s: Finite = Field(300, gt=0)
    """Seconds a run may spend on sending, over all channels; what is left by then stays queued for the next run."""

    @field_validator("webhook")
    @classmethod
    def _address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("https://", "http://", "${")):
            raise ValueError("must start with https://, as Slack shows it")
        return value

    @field_validator("base_url")
    @classmethod
    def _folder(cls, value: str) -> str:
        if not value.startswith(("https://", "http://", "${")):
            raise ValueError("must start with https:// or http://")
        return value.rstrip("/") + "/"

    @model_validator(mode="after")
    def _one_way(self) -> Slack:
        if self.token and self.webhook:
            raise ValueError("give a token or a webhook, not both")
        return self


class Owner(Model):
    """A team that can be told."""

    channel: str | None = None
    """Slack channel, `#name` or id; ignored with a webhook, which is bound to one."""
    mention: str | None = None
    """Slack user or user group id to mention when something becomes critical: `U...` or `S...`."""
    email: str | None = None
    """Shown as the owner in Dagster."""

    @field_validator("mention")
    @classmethod
    def _slack_id(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[UWS][A-Z0-9]+|\$\{\w+\}", value):
            raise ValueError("expected the id of a Slack user (U...) or user group (S...), not a name")
        return value


class Route(Model):
    """Sends findings to an owner. All given patterns must match; the first route that matches wins."""

    owner: str
    """A name under `owners`."""
    targets: tuple[str, ...] = ("*",)
    """Patterns of target names."""
    measurements: tuple[str, ...] = ("*",)
    """Patterns of measurement names."""
    rules: tuple[str, ...] = ("*",)
    """Patterns of rule codes or names."""


class Incidents(Model):
    """When a finding becomes an incident, and when one ends."""

    open_after: int = Field(1, ge=1)
    """Audits in a row that must be bad."""
    resolve_after: int = Field(2, ge=1)
    """Audits in a row that must be good."""
    unknown_after: int = Field(3, ge=1)
    """Audits in a row in which a rule that judged before could not; then that is an incident (`TGT002`)."""


class Report(Model):
    """Where reports are written and how they are reached."""

    folder: str = ".tsaudit/reports"
    """A folder, or any fsspec URL such as `s3://bucket/tsaudit`."""
    base_url: str | None = None
    """Under which address people reach the folder; without it links are file paths."""
    values: Literal["redacted", "full"] = "redacted"
    """How values read from a database are shown in reports and messages."""
    mode: str = "0640"
    """Who may read report files and profiles of `tsaudit collect -o`: permissions as of chmod, with four digits."""

    @field_validator("mode")
    @classmethod
    def _permissions(cls, value: str) -> str:
        if value.startswith("${"):
            return value
        # With its zero: some readers of YAML make another number of it unless it is quoted.
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
        if value is not None and not re.match(r"https?://|\$\{", value):
            raise ValueError("must start with http:// or https://")
        return value.rstrip("/") if value else value


class Settings(Model):
    """The whole of `tsaudit.yaml`."""

    history: Secret = SecretStr("sqlite:///.tsaudit/history.db")
    """SQLAlchemy URL of tsaudit's own store (SQLite or PostgreSQL); never inside an audited database."""
    report: Report = Report()
    """Where reports are written and how they are reached."""
    slack: Slack = Slack()
    """How alerts are sent."""
    sinks: dict[str, SinkSettings] = {}
    """Where else owners are told: names of sinks that other packages bring, each with what it needs."""
    owners: dict[str, Owner] = {"default": Owner()}
    """Name to owner; `default` is told when nobody else is."""
    routes: tuple[Route, ...] = ()
    """Which owner is told of what; the first that matches wins."""
    incidents: Incidents = Incidents()
    """When a finding becomes an incident, and when one ends."""
    rules: Rules = {}
    """Rules switched off, or with another severity, for all targets."""
    limits: Limits = {}
    """For all targets."""
    targets: tuple[Target, ...] = Field(min_length=1)
    """What to audit."""

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
    """Where parts of a file contradict each other, each with what is wrong.

    `names` are those of the targets, `used` the owners named outside `owners`; both with their places.
    """
    if "default" not in owners:
        yield ("owners",), "needs an entry `default`: somebody has to be told"
    seen: set[str] = set()
    for place, name in names:
        if name in seen:
            yield place, f"two targets are named `{name}`; history is kept under the name"
        seen.add(name)
    for place, owner in used:
        if owner not in owners:
            yield place, f"owner `{owner}` is not defined under `owners`"
