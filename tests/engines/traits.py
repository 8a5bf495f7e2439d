"""The engines of which something is true."""

from collections.abc import Callable

from tsaudit.engines.engine import Engine
from tsaudit.engines.quoting import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql import SqlEngine


def engines_that(hold: Callable[[Engine], bool]) -> frozenset[str]:
    """Their names."""
    return frozenset(name for name, engine in ENGINES.items() if hold(engine))


def _has_files_of_its_own(engine: Engine) -> bool:
    first = next((one for one in ENGINES.values() if one.file_magic == engine.file_magic), None)
    return engine.file_magic is not None and first is engine


KEEP_DOCUMENTS = engines_that(lambda engine: engine.keeps_documents)
SPEAK_INFLUXQL = engines_that(lambda engine: engine.language is Language.INFLUXQL)
SHARE_SQL = engines_that(lambda engine: isinstance(engine, SqlEngine))
"""Those whose packages build on `tsaudit.engines.sql`."""
ARE_FILES = engines_that(lambda engine: engine.is_a_file)
HAVE_FILES_OF_THEIR_OWN = engines_that(_has_files_of_its_own)
"""Of engines whose files begin alike, the first."""


def url_of(engine: str, path: object) -> str:
    """The address of a file of the engine."""
    return f"{ENGINES[engine].example_url.partition(':')[0]}:///{path}"
