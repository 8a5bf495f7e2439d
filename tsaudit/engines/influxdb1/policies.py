"""Retention policies of InfluxDB 1.x: finds out which of them contain data, and the name under which each is audited.

The default policy is audited under the name of its database, any other policy as `database/policy`, as on InfluxDB 2.x.
Fields are stored per shard, so `SHOW FIELD KEYS` shows what a policy contains. The statements for measurements and tag
keys, however, ignore policies, and the index `inmem` lists the series of all policies together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tsaudit.model.figures import POLICY_SEPARATOR

FieldRow = tuple[str, str, str]
"""Measurement, field, and data type."""

MAX_DISTINGUISHED: Final = 10_000
"""Maximum number of a measurement's tag sets to check by their rows, if the index does not separate them by policy. The
server opens a cursor for each of them in each shard: 0.3 s and 40 MB for 10,000 in four shards; with 100,000, sometimes
no response within a minute (both on 1.6.7).
"""
_MOST_PROBES: Final = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """A retention policy as described by the server."""

    name: str
    duration_s: int
    """Retention in seconds; 0: no retention."""
    partition_s: int
    is_default: bool


@dataclass(frozen=True, slots=True)
class Part:
    """What is audited under one name."""

    database: str
    """The server's name of the database."""
    policy: Policy | None
    """The policy; None: the database has no default policy."""
    is_divided: bool
    """Whether other policies of the database contain data, too, and are audited separately."""
    may_list_all: bool = False
    """Whether the index may list series of other policies, too."""

    @property
    def name(self) -> str:
        """The name under which it is audited."""
        return self.database if not self.policy_of else f"{self.database}{POLICY_SEPARATOR}{self.policy_name}"

    @property
    def policy_of(self) -> str:
        """The database, for a policy that is not its default one; otherwise empty."""
        return self.database if self.policy and not self.policy.is_default else ""

    def takes(self, policy: str) -> bool:
        """Whether the server's information about the policy applies to this part."""
        return not self.is_divided or policy == self.policy_name

    @property
    def policy_name(self) -> str:
        """The name of the policy; empty if the database has no default policy."""
        return self.policy.name if self.policy else ""


@dataclass(slots=True)
class Contents:
    """What is known about the policies of one database."""

    policies: Sequence[Policy]
    fields: dict[str, list[FieldRow]] = field(default_factory=dict)
    """Policy to its fields, for the policies that were queried."""
    tags: list[tuple[str, str]] | None = None
    """Measurement and tag, for all policies together; None before they were queried."""

    def holds(self, policy: str) -> frozenset[str]:
        """The measurements that have fields in the policy."""
        return frozenset(measurement for measurement, _, _ in self.fields.get(policy, ()))

    def elsewhere(self, policy: str) -> frozenset[str]:
        """The measurements that have fields in other policies."""
        return frozenset().union(*(self.holds(other) for other in self.fields if other != policy))


def read_contents(policies: Sequence[Policy], fields_of: Callable[[str], list[FieldRow]]) -> Contents:
    """The contents of the policies.

    `fields_of`: queries the server for the fields in a policy; it is called for the default policy only if another
    policy contains data.
    """
    contents = Contents(policies)
    for policy in policies:
        if not policy.is_default and (found := fields_of(policy.name)):
            contents.fields[policy.name] = found
    if contents.fields:
        contents.fields |= {policy.name: fields_of(policy.name) for policy in policies if policy.is_default}
    return contents


def parts(database: str, contents: Contents, lists: Callable[[str, str], bool]) -> Iterator[Part]:
    """What to audit in the database: its default policy, and others that contain data.

    `lists`: whether the index lists series of a measurement in a policy.
    """
    default = next((policy for policy in contents.policies if policy.is_default), None)
    others = [policy for policy in contents.policies if not policy.is_default and contents.holds(policy.name)]
    for policy in (default, *others):
        name = policy.name if policy else ""
        ambiguous = bool(others) and not _distinguishes(contents, name, lists)
        yield Part(database, policy, bool(others), ambiguous)


def _distinguishes(contents: Contents, policy: str, lists: Callable[[str, str], bool]) -> bool:
    """Whether the index lists only the series of the policy, as `tsi1` does and `inmem` does not.

    This is tested with a measurement that the policy does not contain. If there is none, it is not known.
    """
    own = contents.holds(policy)
    if not own & contents.elsewhere(policy):
        return True
    foreign = (min(contents.holds(other) - own, default=None) for other in contents.fields if other != policy)
    probes = list(itertools.islice((name for name in foreign if name is not None), _MOST_PROBES))
    return bool(probes) and not any(lists(policy, measurement) for measurement in probes)


@dataclass(slots=True)
class KnownParts:
    """What is known about the databases of a server; shared by all connections to it."""

    contents: dict[str, Contents] = field(default_factory=dict)
    by_name: dict[str, Part] = field(default_factory=dict)

    def of(self, name: str) -> Part:
        """The part that is audited under the name. A database that has not been queried yet counts as one part."""
        return self.by_name.get(name) or Part(name, None, is_divided=False)

    def remember(self, database: str, contents: Contents, found: Sequence[Part]) -> None:
        """Store the contents of a database, with its parts."""
        self.contents[database] = contents
        self.by_name |= {part.name: part for part in found}

    def measurements(self, part: Part, listed: Sequence[str]) -> list[str]:
        """The measurements of the part, among those that the server lists for the whole database.

        A measurement that is in no policy is assigned to the default one, where it appears as having no fields.
        """
        contents = self.contents[part.database]
        own, elsewhere = contents.holds(part.policy_name), contents.elsewhere(part.policy_name)
        if part.policy_of:
            return sorted(own)
        return [name for name in listed if name in own or name not in elsewhere]

    def is_ambiguous(self, part: Part, measurement: str) -> bool:
        """Whether the index may list series of the measurement that exist only in other policies."""
        return part.may_list_all and measurement in self.contents[part.database].elsewhere(part.policy_name)
