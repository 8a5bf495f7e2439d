"""The component that turns the settings in a `tsaudit.yaml`, or of a target in defs.yaml, into assets, checks, a job,
schedules, and sensors.
"""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import dagster as dg
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import Field

from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import PlanError, Unit, make_plan
from dagster_tsaudit.scaffold import AuditScaffolder
from tsaudit.config import file as config_file
from tsaudit.config.file import ConfigError
from tsaudit.config.settings import Settings
from tsaudit.engines.registry import ENGINES
from tsaudit.model.version import VERSION

_Translation = Annotated[TranslationFn[Unit], TranslationFnResolver[Unit](lambda unit: {"audit": unit})]


@dg.scaffold_with(AuditScaffolder)
class AuditComponent(dg.Component, dg.Resolvable, dg.Model):
    """Schema audits of time-series databases.

    Set `config`, the path of a tsaudit.yaml, or `target`, a single target with the same keys.

    `dg scaffold defs` takes `--target NAME` (default: the folder's name), `--engine ENGINE` (default: duckdb), and
    `--url ADDRESS`, with credentials as ${NAME}.
    """

    config: str | None = Field(None, description="A tsaudit.yaml, relative to this file or to the project root.")
    target: dict[str, Any] | None = Field(
        None, description="A single inline target, with the same keys as in tsaudit.yaml."
    )
    name: str | None = Field(
        None, description=("Part of the names of the job, schedules, and sensors; default: the folder's name.")
    )
    granularity: Literal["auto", "target", "group"] = Field(
        "auto", description="One audit asset per target or per group; auto: per group above 500 targets."
    )
    schedule: str | None = Field(
        None, description="A cron expression, UTC, for all targets; default: each target's own."
    )
    shard_size: int = Field(100, ge=1, description="Number of assets audited in one scheduled run, at most.")
    workers: int = Field(4, ge=1, description="Number of targets a run audits at once.")
    tags: dict[str, str] | None = Field(
        None, description="Tags of all runs, for example `dagster-celery/queue`; `run_tags` of a target adds others."
    )
    pool: str | None = Field(
        None, description="Dagster's concurrency pool of every step, such as that of the assets that write the data."
    )
    schedules: Literal["auto", "running", "stopped"] = Field(
        "auto",
        description="Whether schedules start switched on; auto: yes, except in `dg dev` on a developer's machine.",
    )
    after_ingestion: bool = Field(
        False,
        description="Audit targets with an `asset_key` when that asset was materialized, at most once a day (UTC), "
        "and not on a schedule.",
    )
    translation: _Translation | None = Field(
        None,
        description="What Dagster shows of each audit asset, such as key, group_name, tags, owners, and description; "
        "with `{{ audit.name }}`, `{{ audit.group }}`, `{{ audit.engines }}`, `{{ audit.targets }}`, and `{{ spec }}`.",
    )
    dagster_url: str | None = Field(None, description="Address of the Dagster UI, for links in alerts and reports.")

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What the component's page in Dagster shows."""
        return dg.ComponentTypeSpec(
            description="Scheduled schema audits of live time-series databases: cardinality, nulls, names, drift.",
            owners=["team:tsaudit"],
            tags=["data-quality", "schema", "time-series", *ENGINES],
            metadata={"version": VERSION},
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build the definitions without opening a database or needing environment variables: an unset `${NAME}` fails
        the run, not the loading of definitions.
        """
        if (self.config is None) == (self.target is None):
            raise dg.DagsterInvalidDefinitionError(f"{context.path}/defs.yaml: set either `config` or `target`")
        read = partial(self._settings, Path(context.path), Path(context.project_root))
        try:
            plan = make_plan(
                self.name or Path(context.path).name,
                read(resolve_env=False),
                partial(read, resolve_env=True),
                granularity=self.granularity,
                schedule=self.schedule,
                shard_size=self.shard_size,
                workers=self.workers,
                dagster_url=self.dagster_url.rstrip("/") if self.dagster_url else None,
                starts_running=self.schedules == "running" or (self.schedules == "auto" and not _is_development()),
                after_ingestion=self.after_ingestion,
                pool=self.pool,
                tags=self.tags,
                translation=self.translation,
            )
        except (ConfigError, PlanError) as error:
            raise dg.DagsterInvalidDefinitionError(str(error)) from None
        return definitions_of(plan)

    def _settings(self, folder: Path, project: Path, *, resolve_env: bool) -> Settings:
        """The settings: with unresolved `${NAME}` for the definitions, resolved for each run. Raises ConfigError."""
        source = folder / "defs.yaml"
        if self.config is None:
            data = {"targets": [dict(self.target or {})]}
            return config_file.load_mapping(data, label=str(source), folder=project, resolve_env=resolve_env)
        places = (folder / self.config, project / self.config)
        for place in places:
            if place.is_file():
                return config_file.load(place, resolve_env=resolve_env)
        tried = " nor ".join(dict.fromkeys(str(place) for place in places))
        raise ConfigError(f"{source}: config `{self.config}`: there is neither {tried}")


def _is_development() -> bool:
    """Whether `dg` or `dagster dev` loads the definitions; in a deployment, a separate code server loads them."""
    return bool(os.environ.get("DAGSTER_IS_DEV_CLI"))
