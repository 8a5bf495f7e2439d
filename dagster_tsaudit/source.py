"""The source of a component's settings: a file, or a target in defs.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsaudit.config import file as config_file
from tsaudit.config.file import ConfigError
from tsaudit.config.settings import Settings


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Reads the settings: once for the definitions, and again for each run."""

    folder: Path
    """The folder of the component's defs.yaml."""
    root: Path
    """The folder of the Dagster project."""
    config: str | None
    target: Mapping[str, Any] | None

    def known(self) -> Settings:
        """The settings with unresolved `${NAME}`. Raises ConfigError."""
        return self._read(resolve_env=False)

    def load(self) -> Settings:
        """The settings for a run. Raises ConfigError, also if a `${NAME}` is not set."""
        return self._read(resolve_env=True)

    def _read(self, *, resolve_env: bool) -> Settings:
        if self.config is not None:
            return config_file.load(self._file(self.config), resolve_env=resolve_env)
        data = {"targets": [dict(self.target or {})]}
        return config_file.load_mapping(
            data, label=str(self.folder / "defs.yaml"), folder=self.root, resolve_env=resolve_env
        )

    def _file(self, config: str) -> Path:
        places = (self.folder / config, self.root / config)
        for place in places:
            if place.is_file():
                return place
        tried = " nor ".join(dict.fromkeys(str(place) for place in places))
        raise ConfigError(f"{self.folder / 'defs.yaml'}: config `{config}`: there is neither {tried}")
