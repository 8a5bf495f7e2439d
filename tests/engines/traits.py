"""The engines of which something is true."""

from collections.abc import Callable

from tsaudit.engines.engine import Engine
from tsaudit.engines.language import Language
from tsaudit.engines.registry import ENGINES


def engines_that(hold: Callable[[Engine], bool]) -> frozenset[str]:
    """Their names."""
    return frozenset(name for name, engine in ENGINES.items() if hold(engine))


KEEP_DOCUMENTS = engines_that(lambda engine: engine.keeps_documents)
SPEAK_INFLUXQL = engines_that(lambda engine: engine.language is Language.INFLUXQL)
