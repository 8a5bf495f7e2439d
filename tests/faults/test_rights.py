"""What `check` says of missing rights is what the audit after it cannot measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import NOW
from tests.collecting import collected
from tests.command import CliRunner
from tests.databases import write
from tests.faults.rights import CASES, DATABASE, EVERYTHING, Case, dataset
from tsaudit import not_audited
from tsaudit.cli import main
from tsaudit.cli.errors import Exit
from tsaudit.collect import probing
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.model.facts import sources_of
from tsaudit.model.figures import Gap, Reason
from tsaudit.model.finding import Verdict
from tsaudit.model.profile import Profile


def _refused(gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Those that more rights would fill; the budget is not one."""
    return (gap for gap in gaps if gap.reason is not Reason.OVER_BUDGET)


def _lost(profile: Profile) -> dict[str, str]:
    """Table, empty for the target or all of a database, to what was not measured of it."""
    if not_audited.unseen(profile) is not None:
        return {"": EVERYTHING}
    unread = not_audited.unread(profile)
    used = {source for fact in required_facts(profile.engine) for source in sources_of(fact)}
    found: dict[str, set[str]] = {}
    for gap in _refused(profile.gaps):
        if (gap.database, gap.measurement) not in unread and gap.fact in used:
            found.setdefault(gap.measurement or "", set()).add(gap.fact)
    lost = {name: ", ".join(sorted(facts)) for name, facts in found.items()}
    return lost | {name: EVERYTHING for _, name in unread}


def _checked(target: Target, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code, and what is printed, in one line."""
    about = target.model_dump(include={"name", "engine", "username"}, exclude_none=True)
    for name in ("url", "password"):
        if (secret := getattr(target, name)) is not None:
            about[name] = secret.get_secret_value() if hasattr(secret, "get_secret_value") else secret
    about |= {"databases": list(target.databases), "budget": {"max_scan_rows": target.budget.max_scan_rows}}
    monkeypatch.chdir(folder)
    Path("tsaudit.yaml").write_text(yaml.safe_dump({"targets": [about]}))
    done = CliRunner().invoke(main, ["check"], prog_name="tsaudit")
    return done.exit_code, " ".join(done.stdout.split())


def _params() -> Iterator[Any]:
    """In the first tier, one for each engine: something is missing, and not everything."""
    seen: set[str] = set()
    for case in CASES:
        is_first = bool(case.lost) and case.lost.get("") != EVERYTHING and case.engine not in seen
        seen |= {case.engine} if is_first else set()
        marks = () if is_first else (pytest.mark.full,)
        yield pytest.param(case, marks=marks, id=f"{case.engine}: {case.lacking}".replace("`", ""))


def test_tables_that_were_not_tried_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mongodb: str) -> None:
    target = write(dataset(), "mongodb", mongodb)
    assert "was not tried" not in _checked(target, tmp_path, monkeypatch)[1]
    monkeypatch.setattr(probing, "_MOST_TRIED", 1)
    assert "whether 2 more tables can be read was not tried" in _checked(target, tmp_path, monkeypatch)[1]


@pytest.mark.parametrize("case", list(_params()))
def test_check_says_what_the_audit_after_it_cannot_measure(
    case: Case, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with case.setup(request) as target:
        code, said = _checked(target, tmp_path, monkeypatch)
        with open_connection(target) as connection:
            foretold = probe(target, connection, NOW, most_tables=10).profile
        profile = collected(target)
    result = evaluate(profile)
    assert _lost(profile) == case.lost
    assert _lost(foretold) == case.lost
    assert case.says.replace(DATABASE, target.databases[0]) in said
    if case.lost.get("") == EVERYTHING:
        assert (code, "can be evaluated" in said) == (Exit.NOT_AUDITED, False)
        assert result.verdict is Verdict.UNKNOWN
        return
    assert code == Exit.OK
    lacking = [{r.code for r in evaluate(one).results if r.is_lacking} for one in (foretold, profile)]
    assert lacking[0] == lacking[1]
    assert ("only in part" in said) == bool(lacking[0])
    for table, facts in case.lost.items():
        assert all(word in said for word in ([] if facts == EVERYTHING else facts.split(", ")))
        assert table in said
