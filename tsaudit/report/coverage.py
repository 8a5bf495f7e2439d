"""What was not audited and why, and what the audit cost the database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tsaudit.model.figures import Cost, Gap, Listed, Reason, UnusedSetting
from tsaudit.model.finding import RULELESS_CODES, AuditResult, Outcome, RuleResult
from tsaudit.model.profile import Profile
from tsaudit.text import ended, instant

MOST_PLACES: Final = 6
MOST_DETAILS: Final = 4


@dataclass(frozen=True, slots=True)
class GapGroup:
    """Gaps of one fact for one reason with similar details, or with any details if there would be too many groups."""

    fact: str
    reason: Reason
    count: int
    places: tuple[str, ...]
    """The first MOST_PLACES places."""
    detail: str
    """What happened at the first place and what would help, as a sentence."""


@dataclass(frozen=True, slots=True)
class CoverageSection:
    """What could not be evaluated."""

    gaps: tuple[GapGroup, ...]
    open_rules: tuple[RuleResult, ...]
    """Rules that needed something that was not measured."""
    broken_rules: tuple[RuleResult, ...]
    in_part: tuple[RuleResult, ...]
    """Rules that apply, but leave something out, as their `not_evaluated` says."""
    not_applicable: tuple[RuleResult, ...]
    switched_off: tuple[RuleResult, ...]
    """Rules switched off by `rules` in the configuration."""
    missed: tuple[tuple[str, str], ...]
    """What could not be audited (the target, the rest of it after a failure, or databases), and why, as a sentence."""
    unused_settings: tuple[UnusedSetting, ...]
    left_out: tuple[Listed, ...]
    """Databases in which `include` and `exclude` skip measurements."""

    complete: bool
    """Whether everything needed was measured."""


def coverage(result: AuditResult, profile: Profile | None) -> CoverageSection:
    """The gaps, grouped, and the rules that could not be evaluated because of them."""

    def having(outcome: Outcome) -> tuple[RuleResult, ...]:
        return tuple(sorted((r for r in rules if r.outcome is outcome), key=lambda r: r.code))

    rules = [r for r in result.results if r.code not in RULELESS_CODES]
    open_rules = tuple(r for r in rules if r.gaps and r.outcome is not Outcome.ERROR)
    return CoverageSection(
        gaps=tuple(_grouped(profile.gaps)) if profile else (),
        open_rules=tuple(sorted(open_rules, key=lambda r: r.code)),
        broken_rules=having(Outcome.ERROR),
        in_part=tuple(sorted((r for r in rules if r.leaves_out), key=lambda r: r.code)),
        not_applicable=tuple(r for r in having(Outcome.NOT_APPLICABLE) if not r.switched_off),
        switched_off=tuple(r for r in having(Outcome.NOT_APPLICABLE) if r.switched_off),
        missed=tuple(_missed(result, profile)),
        unused_settings=profile.unused_settings if profile else (),
        left_out=tuple(one for one in profile.listed if one.left_out) if profile else (),
        complete=result.is_complete(profile),
    )


def _missed(result: AuditResult, profile: Profile | None) -> Iterator[tuple[str, str]]:
    for finding in result.not_audited.findings if result.not_audited else ():
        database = finding.subject.database
        part = f"The audit at {instant(result.failed_at)}" if result.failed_at else "Part of the audit"
        what = f"Database {database}" if database else "The whole target" if profile is None else part
        yield what, _sentence(finding.message)


def query_cost(profile: Profile) -> Cost:
    """What the audit cost the database, all facts together."""
    costs = profile.costs
    return Cost(
        fact="all",
        statements=sum(c.statements for c in costs),
        seconds=sum(c.seconds for c in costs),
        rows=sum(c.rows for c in costs),
        bytes=_sum(c.bytes for c in costs),
        bytes_scanned=_sum(c.bytes_scanned for c in costs),
        bytes_metered=_sum(c.bytes_metered for c in costs),
    )


def _sum(parts: Iterable[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _grouped(gaps: Iterable[Gap]) -> Iterable[GapGroup]:
    groups: dict[tuple[str, Reason], list[Gap]] = {}
    for gap in gaps:
        groups.setdefault((gap.fact, gap.reason), []).append(gap)
    for (fact, reason), found in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        for members in _by_details(found):
            places = tuple(dict.fromkeys(_place(g) for g in members))
            yield GapGroup(fact, reason, len(members), places[:MOST_PLACES], _sentence(members[0].detail))


def _by_details(gaps: list[Gap]) -> list[list[Gap]]:
    """Groups of gaps whose details are the same except for the names of places, largest first; a single group if there
    would be too many.
    """
    alike: dict[str, list[Gap]] = {}
    for gap in gaps:
        names = "|".join(re.escape(name) for name in (gap.measurement, gap.database) if name)
        said = re.sub(rf"(?<!\w)({names})(?!\w)", "", gap.detail) if names else gap.detail
        alike.setdefault(said, []).append(gap)
    return sorted(alike.values(), key=lambda members: -len(members)) if len(alike) <= MOST_DETAILS else [gaps]


def _sentence(text: str) -> str:
    text = text.strip()
    return ended(f"{text[:1].upper()}{text[1:]}")


def _place(gap: Gap) -> str:
    return gap.place or "(whole target)"
