"""The files that `dg scaffold defs` writes: a component that loads, with a tsaudit.yaml to fill in."""

import re
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import click
import dagster as dg
import yaml
from dagster.components.component_scaffolding import scaffold_component
from pydantic import BaseModel, Field, field_validator

from dagster_tsaudit.plan import KEY_PREFIX, encode
from tsaudit.cli.discovery import FoundTarget, variable_of
from tsaudit.cli.init import document
from tsaudit.engines.registry import ENGINES
from tsaudit.text import listed

_NOTE: Final = """\
# Add the names of those variables below `requirements`, `env` in defs.yaml, too. The command line reads the same file:
# `tsaudit --help`.
"""

_IGNORED: Final = "# History and reports of a local tsaudit\n.tsaudit/\n"


class AuditScaffoldParams(BaseModel):
    """Options of `dg scaffold defs dagster_tsaudit.AuditComponent <path>`."""

    target: str | None = Field(None, description="Name of the target; default: the folder's.")
    engine: Literal[tuple(ENGINES)] = Field("duckdb", description="Database engine.")  # type: ignore[valid-type]
    url: str | None = Field(None, description="The address; write credentials as ${NAME}.")

    # Errors are click's, because `dg` prints those of pydantic as JSON.

    @field_validator("engine", mode="before")
    @classmethod
    def _known(cls, engine: str) -> str:
        if engine not in ENGINES:
            raise click.UsageError(f"engine `{engine}` is not supported{ENGINES.near(engine)}")
        return engine

    @field_validator("url")
    @classmethod
    def _no_password(cls, url: str | None) -> str | None:
        try:
            password = urlsplit(url).password if url else None
        except ValueError as error:
            raise click.UsageError(f"--url is not an address: {error}") from None
        if password and not re.fullmatch(r"\$\{\w+\}", password):
            advice = "write its variable's name in its place, such as ${TSAUDIT_SHOP_PASSWORD}"
            raise click.UsageError(f"--url contains a password; {advice}")
        return url


class AuditScaffolder(dg.Scaffolder[AuditScaffoldParams]):
    """Writes defs.yaml, a tsaudit.yaml with one target, and a .gitignore for what audits write.

    Existing files are kept.
    """

    @classmethod
    def get_scaffold_params(cls) -> type[AuditScaffoldParams]:
        return AuditScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[AuditScaffoldParams]) -> None:
        scaffold_component(request, {"config": "tsaudit.yaml"})
        folder = request.target_path.parent if request.append else request.target_path
        name = request.params.target or folder.name
        config = _text(name, request.params)
        _write(folder / "tsaudit.yaml", config)
        _write(folder / ".gitignore", _IGNORED)
        if request.scaffold_format == "yaml":
            _require(request.target_path if request.append else folder / "defs.yaml", variables(config))
        _say_next(name, folder, variables(config))


def _say_next(name: str, folder: Path, names: list[str]) -> None:
    """Print what comes next, because a component that was just written audits nothing yet."""
    if names:
        click.echo(f"Set {listed(names, len(names))} in .env.")
    click.echo(f"Complete {folder / 'tsaudit.yaml'}, run `dg check defs`, and audit:")
    click.echo(f"dg launch --assets {KEY_PREFIX}/{encode(name)}")


def variables(config: str) -> list[str]:
    """The names of the environment variables that a tsaudit.yaml needs, in alphabetical order."""
    # Parsing removes comments, and with them variables that are only mentioned there.
    return sorted(set(re.findall(r"\$\{(\w+)\}", yaml.safe_dump(yaml.safe_load(config), width=10_000))))


def _text(name: str, params: AuditScaffoldParams) -> str:
    """The same file as `tsaudit init` writes, with a note for Dagster."""
    engine = ENGINES[params.engine]
    url = params.url or engine.example_url.format(name=name)
    login = urlsplit(url)
    names_user = bool(login.username) and login.password is None and engine.reads_password_apart
    secret = "TOKEN" if engine.signs_in_by_token else "PASSWORD" if names_user else ""
    variable = variable_of(name, secret) if secret else ""
    return document([FoundTarget(name, params.engine, url, variable)], _NOTE)


def _write(file: Path, text: str) -> None:
    if not file.exists():
        file.write_text(text, encoding="utf-8")


def _require(file: Path, names: list[str]) -> None:
    """Add the environment variables that the component needs to the file, so that `dg check yaml` and Dagster+ know
    them.
    """
    if names:
        with file.open("a", encoding="utf-8") as defs:
            defs.write(yaml.safe_dump({"requirements": {"env": names}}, sort_keys=False))
