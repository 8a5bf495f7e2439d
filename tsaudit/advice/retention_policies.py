"""What a statement of InfluxQL reaches: it may name a retention policy, unless it deletes."""

from __future__ import annotations

from tsaudit.dialect import Qualified
from tsaudit.phrases import listed
from tsaudit.profile import POLICY_MARK, Database, Profile
from tsaudit.rule import Case


def table_in(profile: Profile, database: str, name: str) -> Qualified:
    """How statements name a measurement of the database, which may be gone, or one that is to be made there."""
    path = next((m.path for m in profile.measurements if m.database == database), ())
    return Qualified(database, name, path)


def server_name(database: Database) -> str:
    """What the server calls the database."""
    return database.policy_of or database.name


def own_name(database: Database) -> str:
    """The name that somebody chose: of a database, or of the retention policy that is audited as one."""
    if not database.policy_of:
        return database.name
    return database.name.removeprefix(f"{database.policy_of}{POLICY_MARK}")


def also_deleted(case: Case, database: str, measurement: str) -> str:
    """A clause on what DROP and DELETE reach beyond the retention policy audited as `database`: they name none.

    Empty where no other policy holds a measurement of this name.
    """
    own = next((d for d in case.profile.databases if d.name == database), None)
    if own is None:
        return ""
    holding = {m.database for m in case.measurements if m.name == measurement} - {database}
    others = [d.name for d in case.profile.databases if d.name in holding and server_name(d) == server_name(own)]
    if not others:
        return ""
    return (
        f" (it deletes from all retention policies of {server_name(own)}, from {listed(others, 3)} too: let the data "
        "expire instead, or copy first what has to stay)"
    )
