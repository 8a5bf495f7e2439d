"""Routes whose measurement patterns match nothing that is audited."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping

from tsaudit.config.settings import Route, Settings
from tsaudit.model.profile import Profile, UnusedSetting
from tsaudit.text import many, nearest


def unused_routes(settings: Settings, profiles: Mapping[str, Profile]) -> Iterator[UnusedSetting]:
    """The measurement patterns that match no measurement of the route's targets.

    `profiles`: target to its profile. A route is skipped if one of its targets has no profile or was not listed
    completely, because the pattern may match there.
    """
    for number, route in enumerate(settings.routes):
        # The targets with a profile are checked first: an audit has one, and there may be thousands of targets and
        # routes.
        if not all(profile.all_listed() for name, profile in profiles.items() if _fits(route.targets, name)):
            continue
        if not any(_fits(route.targets, name) for name in profiles):
            continue
        if any(target.name not in profiles and _fits(route.targets, target.name) for target in settings.targets):
            continue
        meant = [target.name for target in settings.targets if _fits(route.targets, target.name)]
        if not meant:
            continue
        names = sorted({m.name for name in meant for m in profiles[name].measurements})
        for pattern in _unmatched(route, names):
            where = f"target {meant[0]}" if len(meant) == 1 else many(len(meant), "target")
            detail = f"matches none of {many(len(names), 'measurement')} of {where}"
            yield UnusedSetting(
                f"routes[{number}].measurements", pattern, detail + nearest(pattern.strip("*?[]"), names[:2_000])
            )


def _unmatched(route: Route, names: list[str]) -> Iterator[str]:
    """The patterns of the route that match none of the names. An empty pattern matches findings about whole databases
    and targets.
    """
    yield from (
        p for p in route.measurements if p not in ("*", "") and not any(fnmatch.fnmatchcase(n, p) for n in names)
    )


def _fits(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
