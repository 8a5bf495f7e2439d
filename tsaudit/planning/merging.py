"""Changes of several findings about one thing: the same ones fall together, contradictions are resolved.

The rules, in this order:

1. Changes of one kind that decide the same fall together; the one that says more stays.
2. Of two that decide a thing differently the one of the worse finding stays; of findings equally bad both are left
   out, because nobody can tell which of them is right.
3. A change that relies on something which another one decides otherwise is left out, until the next audit has seen the
   measurement without.
4. A measurement that is merged into another one is not changed as well, until the next audit has seen the whole; if a
   finding of its own is worse than those that want the merge, the merge is left out instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tsaudit.model.change import Change, Claim, Inspect, MergeMeasurements
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Asked, SetAside
from tsaudit.model.subject import Subject


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change, and the finding that asks for it."""

    change: Change
    rule: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A change with all that ask for it."""

    change: Change
    by: tuple[Wanted, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        worst_first = sorted(self.by, key=lambda wanted: (-wanted.severity.rank, wanted.rule))
        return tuple(dict.fromkeys(wanted.rule for wanted in worst_first))

    @property
    def rank(self) -> int:
        return max(wanted.severity.rank for wanted in self.by)

    def set_aside(self, reason: str) -> SetAside:
        return SetAside(self.change, self.rules, reason)


def merge(wanted: Iterable[Wanted]) -> tuple[tuple[Asked, ...], tuple[SetAside, ...]]:
    """The changes of one measurement that can be made together, and those that cannot, with the reason for each."""
    candidates, aside = _together(wanted), list[SetAside]()
    for step in (_contradictions, _reliances):
        left_out = step(candidates)
        aside += left_out.values()
        candidates = [candidate for number, candidate in enumerate(candidates) if number not in left_out]
    return tuple(Asked(one.change, one.rules) for one in candidates), tuple(aside)


@dataclass(frozen=True, slots=True)
class Apart:
    """What is wanted of each subject where no measurement is both merged and changed, and what is left out of it."""

    wanted: Mapping[Subject, tuple[Wanted, ...]]
    aside: Mapping[Subject, tuple[SetAside, ...]]


def apart(wanted: Mapping[Subject, Sequence[Wanted]]) -> Apart:
    """Rule 4. Of all subjects of an audit."""
    kept = {at: list(ones) for at, ones in wanted.items()}
    aside: dict[Subject, list[SetAside]] = defaultdict(list)

    def leave_out(one: Wanted, reason: str) -> None:
        kept[one.change.at].remove(one)
        aside[one.change.at].append(SetAside(one.change, (one.rule,), reason))

    for merging in [one for ones in wanted.values() for one in ones if isinstance(one.change, MergeMeasurements)]:
        merge = merging.change
        assert isinstance(merge, MergeMeasurements)
        members = [Subject(merge.at.database, member.measurement) for member in merge.members]
        own = [one for at in members for one in kept.get(at, ()) if not isinstance(one.change, Inspect)]
        worse = next((one for one in own if one.severity.rank > merging.severity.rank), None)
        if worse is not None:
            where = worse.change.at.measurement
            leave_out(merging, f"{worse.rule} wants {where} changed, and its finding is worse: do that first")
            continue
        for one in own:
            leave_out(one, f"{merging.rule} merges it into {merge.into}: do that first, then audit again")
    return Apart({at: tuple(ones) for at, ones in kept.items()}, {at: tuple(ones) for at, ones in aside.items()})


def _together(wanted: Iterable[Wanted]) -> list[_Candidate]:
    """One candidate for changes that decide the same, or less than another one of their kind."""
    candidates: list[_Candidate] = []
    for one in wanted:
        for number, known in enumerate(candidates):
            if (change := _one_of(known.change, one.change)) is not None:
                candidates[number] = _Candidate(change, (*known.by, one))
                break
        else:
            candidates.append(_Candidate(one.change, (one,)))
    return candidates


def _one_of(known: Change, other: Change) -> Change | None:
    """The change that says what both say; None where they are two."""
    if known == other:
        return known
    mine, its = known.claims(), other.claims()
    # Where the reliances differ, one of them may hold while the other does not.
    if type(known) is not type(other) or not mine or not its or known.relies_on() != other.relies_on():
        return None
    if its.items() <= mine.items():
        return known
    return other if mine.items() <= its.items() else None


def _contradictions(candidates: Sequence[_Candidate]) -> dict[int, SetAside]:
    left_out: dict[int, SetAside] = {}
    for number, one in enumerate(candidates):
        for claim, other in _against(one, candidates):
            if other.rank >= one.rank:
                said = f"{', '.join(other.rules)} asks for something else for {_named(claim)}"
                worse = "its finding is worse" if other.rank > one.rank else "decide between the two, then audit again"
                left_out[number] = one.set_aside(f"{said}: {worse}")
    return left_out


def _against(one: _Candidate, candidates: Iterable[_Candidate]) -> Iterator[tuple[Claim, _Candidate]]:
    claims = one.change.claims()
    for other in candidates:
        if other is one:
            continue
        yield from (
            (claim, other) for claim, value in other.change.claims().items() if claims.get(claim, value) != value
        )


def _reliances(candidates: Sequence[_Candidate]) -> dict[int, SetAside]:
    left_out: dict[int, SetAside] = {}
    for number, one in enumerate(candidates):
        needed = one.change.relies_on()
        for other in candidates:
            broken = [c for c, value in other.change.claims().items() if needed.get(c, value) != value]
            if broken and not _is_asked_without(one, candidates):
                said = f"it depends on {_named(broken[0])}, which {', '.join(other.rules)} changes"
                left_out[number] = one.set_aside(f"{said}: do that first, then audit again")
                break
    return left_out


def _is_asked_without(one: _Candidate, candidates: Iterable[_Candidate]) -> bool:
    """Whether another finding asks for the same and relies on nothing: then the two are one change."""
    return any(
        other is not one and not other.change.relies_on() and other.change.claims() == one.change.claims()
        for other in candidates
    )


def _named(claim: Claim) -> str:
    aspect, name = claim[0], ", ".join(filter(None, claim[1].split("\x1f")))
    return f"the {aspect} of {name}" if name else f"the {aspect}"


def without_repeats(changes: Iterable[Asked]) -> tuple[Asked, ...]:
    """Changes that decide the same, one of which relies on more than the other, as one."""
    found: list[Asked] = []
    for asked in changes:
        same = next((n for n, other in enumerate(found) if _say_the_same(other.change, asked.change)), None)
        if same is None:
            found.append(asked)
            continue
        rules = tuple(dict.fromkeys((*found[same].rules, *asked.rules)))
        keeps = found[same].change if not found[same].change.relies_on() else asked.change
        found[same] = replace(asked, change=keeps, rules=rules)
    return tuple(found)


def _say_the_same(one: Change, other: Change) -> bool:
    claims = one.claims()
    return type(one) is type(other) and bool(claims) and claims == other.claims()
