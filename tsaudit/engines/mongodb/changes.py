"""How MongoDB makes changes."""

from typing import Final

from tsaudit.engines.rendering import Renderers

RENDERERS: Final[Renderers] = {}
