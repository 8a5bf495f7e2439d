"""How an engine says a change: what its room gives, and what it is given."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tsaudit.engines.engine import Engine
from tsaudit.engines.quoting import Qualified, quote_name
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Change
from tsaudit.model.plan import Effect, Step
from tsaudit.model.profile import Measurement, Profile


class Quoting(Protocol):
    """What knows the server, and quotes names for it."""

    @property
    def profile(self) -> Profile: ...

    def quoted(self, names: Iterable[str | Qualified]) -> str:
        """The names as identifiers of the engine, with commas between."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where changes are to be made: the server as it was last profiled, and the measurement."""

    profile: Profile
    database: str
    measurement: Measurement | None
    """None: the changes are about the database."""
    effect: Effect = field(default_factory=Effect)
    """What all changes of the plan do together."""

    @property
    def engine(self) -> Engine:
        return ENGINES[self.profile.engine]

    @property
    def here(self) -> Measurement:
        """The measurement, for changes that are about one."""
        if self.measurement is None:
            raise ValueError("a change of a measurement, where only a database is named")
        return self.measurement

    def quoted(self, names: Iterable[str | Qualified]) -> str:
        """The names as identifiers of the engine, with commas between."""
        return ", ".join(quote_name(self.profile.engine, name) for name in names)

    def table(self, name: str = "") -> str:
        """The measurement's name, or that of another one beside it, so that a statement finds it from anywhere."""
        inside = (m for m in self.profile.measurements if m.database == self.database)
        path = next((m.path for m in ((self.measurement,) if self.measurement else inside)), ())
        return self.quoted([Qualified(self.database, name or self.here.name, path)])

    def free(self, name: str) -> str:
        """The name, or the name with the lowest number at its end that no measurement beside it has."""
        taken = {m.name for m in self.profile.measurements if m.database == self.database}
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(one for one in numbered if one not in taken)


Renderer = Callable[[Place, Sequence[Any]], Iterator[Step]]
"""Says the changes it is given, all of its kinds at once, as steps. It is called once for each plan."""

Renderers = Mapping[type[Change], Renderer]
"""Kind of change to what says it. Kinds that share a renderer are said together, as where one copy makes them all."""

_NONE: Final[Renderers] = {}


def renderers_of(engine: str) -> Renderers:
    """What the engine's room declares as RENDERERS, or that of the engine it `speaks`; none where neither has any."""
    about = ENGINES[engine]
    module = about.changes or (ENGINES[about.speaks].changes if about.speaks else "")
    return importlib.import_module(module).RENDERERS if module else _NONE
