"""What depends on columns that go or get other names: it is looked up while it can still be carried over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.dialect import Dialect
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


def looked_up(place: Place, dialect: Dialect, columns: Iterable[str]) -> Iterator[Step]:
    """The step that shows what would break, or would keep a column from being dropped."""
    here = [column for column in dict.fromkeys(columns) if column in place.here.columns]
    if not here:
        return
    yield Step(
        Phase.LOOK,
        f"See what depends on {listed(here, 5)}: views, triggers, foreign keys, defaults, grants. Keep the answer. "
        "Run the statements in the column `before`, in this order, right before the step that renames or drops. Run "
        "those in `afterward`, in reverse order, once the plan is done, with the new names and types where they use "
        "the old ones. What has no statements is for you to carry over.",
        dialect.dependents(place, here),
        "sql",
    )
