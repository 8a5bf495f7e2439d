"""The subject of a finding or figure: a target, a database, a measurement, or a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a finding is about: the target (all empty), a database, a measurement, or one of its columns."""

    database: str = ""
    measurement: str = ""
    column: str = ""

    def __str__(self) -> str:
        """For people: `db/measurement.column`, without the empty parts."""
        name = "/".join(part for part in (self.database, self.measurement) if part)
        return f"{name}.{self.column}" if self.column else name or "(whole target)"

    @property
    def key(self) -> str:
        """For storage: one text per subject, all different, whatever characters the names contain."""
        parts = (self.database, self.measurement, self.column)
        return "/".join(p.replace("%", "%25").replace("/", "%2F") for p in parts)

    @classmethod
    def from_key(cls, key: str) -> Subject:
        """The subject that has this `key`."""
        return cls(*(p.replace("%2F", "/").replace("%25", "%") for p in key.split("/")))
