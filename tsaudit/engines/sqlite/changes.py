"""How SQLite makes changes."""

from typing import Final

from tsaudit.engines.rendering import Renderers
from tsaudit.engines.sql import changes as sql

RENDERERS: Final[Renderers] = {**sql.COMMON}
