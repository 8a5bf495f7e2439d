"""What `dg scaffold defs` writes: a component that loads, with a tsaudit.yaml to fill in."""

import os
from pathlib import Path
from typing import Final, Literal

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from pydantic import BaseModel, Field

from tsaudit.engines.registry import ENGINES

_CONFIG: Final = """\
# What tsaudit audits; the command line reads the same file: tsaudit --help.
# Secrets are written ${{NAME}} and read from the environment when an audit runs. Paths are relative to this file.
history: sqlite:///{root}/.tsaudit/history.db
report:
  folder: {root}/.tsaudit/reports

owners:
  default:
    # channel: "#data-platform"
    # email: data-platform@example.com
  # <team>: ...

# slack:
#   token: ${{SLACK_BOT_TOKEN}}

targets:
  - name: {name}
    engine: {engine}
    url: {url}
    schedule: "0 6 * * *"  # daily at 06:00 UTC
"""


class AuditScaffoldParams(BaseModel):
    """Options of `dg scaffold defs dagster_tsaudit.AuditComponent <path>`."""

    engine: Literal[tuple(ENGINES)] = Field("duckdb", description="Database engine.")  # type: ignore[valid-type]
    url: str | None = Field(None, description="The address; write credentials as ${NAME}.")


class AuditScaffolder(dg.Scaffolder[AuditScaffoldParams]):
    """Writes defs.yaml and a tsaudit.yaml with one target named after the folder."""

    @classmethod
    def get_scaffold_params(cls) -> type[AuditScaffoldParams]:
        return AuditScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[AuditScaffoldParams]) -> None:
        scaffold_component(request, {"config": "tsaudit.yaml"})
        folder = request.target_path.parent if request.append else request.target_path
        root = os.path.relpath(request.project_root or folder, folder)
        _write_config(folder / "tsaudit.yaml", root, request.params)


def _write_config(file: Path, root: str, params: AuditScaffoldParams) -> None:
    if file.exists():
        return
    name = file.parent.name
    url = params.url or ENGINES[params.engine].example_url.format(name=name)
    file.write_text(_CONFIG.format(root=root, name=name, engine=params.engine, url=url), encoding="utf-8")
