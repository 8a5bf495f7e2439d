"""A response of which one leaf cannot be true never makes a finding, nor an `ok`, whatever the protocol."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import DAY, NOW
from tests.collecting import Tampered, figures
from tests.engines.influxdb2.conversations import is_kept_back
from tests.examples import examples
from tests.faults.taps import ARE_TEXT, TAPS, Tap, Tree
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, Rows
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import FACTS, Given
from tsaudit.model.finding import AuditResult, Verdict
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Profile

Path = tuple[str | int, ...]
_ABSURD: Final[dict[str, Any]] = {
    "a text": "many",
    "a list": [1],
    "an object": {"a": 1},
    "a number": 7,
    "negative": -7,
    "not finite": math.nan,
}


_ANYTHING: Final = frozenset({"documents", "options"})
"""Facts whose values are the user's, or may be anything."""
_BY_NUMBER: Final = frozenset({"effective_options", "stored_rows"})
"""Facts whose rows name a table by a number of which only another response knows whether there is one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A leaf, and what it becomes."""

    response: int
    path: Path
    way: str


@dataclass(slots=True)
class _Audit:
    """One audit through a tap, of whose leaves one may be damaged."""

    place: Place | None = None
    fact: str = ""
    """The one that is queried."""
    said: list[str] = field(default_factory=list)
    """Of each response, the fact."""
    places: list[Place] = field(default_factory=list)
    is_text: bool = False
    hit: str = ""
    """The fact of the damaged response."""

    def alter(self, tree: Tree) -> Tree:
        number = len(self.said)
        self.said.append(self.fact)
        if self.place is None:
            if self.fact and FACTS[self.fact].columns and self.fact not in _ANYTHING:
                ways = _ways(tree, self.is_text)
                negative = self.fact not in _BY_NUMBER
                self.places += [Place(number, path, way) for path, way in ways if negative or way != "negative"]
        elif number == self.place.response:
            with contextlib.suppress(LookupError, TypeError):
                damaged = _with(tree, self.place.path, _ABSURD[self.place.way], self.is_text)
                self.hit = self.fact
                return damaged
        return tree


def _ways(tree: Tree, is_text: bool, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each leaf with what it may become, so that it is no longer what it should be."""
    if isinstance(tree, dict | list):
        inside = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in inside:
            yield from _ways(value, is_text, (*path, key))
    elif isinstance(tree, bool) or tree is None:
        return
    elif isinstance(tree, str) and is_text:
        yield from ((path, way) for way in ("a text", "negative", "not finite") if _is_number(tree))
    elif isinstance(tree, int | float):
        yield from ((path, way) for way in _ABSURD if way != "a number")
    elif isinstance(tree, str):
        yield from ((path, way) for way in ("a list", "an object", "a number"))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _with(tree: Tree, path: Path, leaf: Any, is_text: bool) -> Tree:
    if not path:
        return str(leaf) if is_text and isinstance(tree, str) else leaf
    first, *rest = path
    copied: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[first] = _with(tree[first], tuple(rest), leaf, is_text)
    return copied


class _Noted(Tampered):
    """Says which fact is queried; nothing is queried together."""

    def __init__(self, connection: Any, audit: _Audit) -> None:
        super().__init__(connection, lambda *_: None)
        self._audit = audit

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        self._audit.fact = fact
        return super().query(fact, timeout_s, given)


class _Undamaged:
    """An audit without damage, and where there could be some."""

    def __init__(self, engine: str, tap: Tap) -> None:
        self.engine, self.tap = engine, tap
        audit = _Audit(is_text=engine in ARE_TEXT)
        self.profile, result = _audited(engine, tap, audit)
        self.places, self.said = audit.places, audit.said
        self.severities = {(rule.code, f.subject): f.severity.rank for rule, f in result.findings()}
        assert [gap for gap in self.profile.gaps if not is_kept_back(gap)] == []

    def __repr__(self) -> str:
        return self.engine

    def complaints(self, place: Place) -> list[str]:
        """What damage there does that must not be; what was not met there does nothing."""
        audit = _Audit(place, is_text=self.engine in ARE_TEXT)
        try:
            profile, result = _audited(self.engine, self.tap, audit)
        except ConnectorError:
            return []
        if audit.hit != self.said[place.response]:
            return []
        found = [] if from_json(Profile, to_json(profile)) == profile else ["it cannot be stored"]
        for rule, finding in result.findings():
            if finding.severity.rank > self.severities.get((rule.code, finding.subject), -1) and rule.code != "TGT001":
                found.append(f"a finding of {audit.hit}: {rule.code} {finding.message}")
        gaps = {gap for gap in profile.gaps if not is_kept_back(gap)}
        # What the server does by itself, such as to compact its files, is no damage.
        if not gaps and (seen := _content(profile)) != _content(self.profile) and seen != self._content_now():
            found.append(f"{audit.hit} is believed")
        if gaps and result.verdict is Verdict.OK:
            found.append("ok in spite of gaps")
        return found

    def _content_now(self) -> object:
        return _content(_audited(self.engine, self.tap, _Audit(is_text=self.engine in ARE_TEXT))[0])


def _audited(engine: str, tap: Tap, audit: _Audit) -> tuple[Profile, AuditResult]:
    with tap(audit.alter) as about:
        target = Target(name="shop", engine=engine, **about)
        with open_connection(target) as connection:
            profile = collect(target, _Noted(connection, audit), day=DAY, now=NOW)
    return profile, evaluate(profile)


@pytest.fixture(scope="module", params=sorted(TAPS))
def undamaged(request: pytest.FixtureRequest) -> Iterator[_Undamaged]:
    engine = request.param
    if engine == "timestream":
        request.getfixturevalue("aws_credentials")
    with TAPS[engine]() as tap:
        yield _Undamaged(engine, tap)


def _content(profile: Profile) -> object:
    """What the profile says of the database; the server's own counters go on."""
    about = figures(profile)
    # Which the audits before have used, too.
    measurements = (replace(m, activity=None, indexes=m.indexes and len(m.indexes)) for m in about.measurements)
    return about.databases, tuple(measurements), about.listed


@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_leaf_leaves_a_gap_and_nothing_else(undamaged: _Undamaged, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(undamaged.places))
    assert undamaged.complaints(place) == []
