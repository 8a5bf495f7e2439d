"""Order, arrangement and wording of the findings."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import date

import click
import pytest

from tests.builders import NOW, a_finding, a_result, a_rule_result
from tests.report import sample
from tsaudit.history.lifecycle import Decision, DecisionKind, IncidentState
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity, fingerprint
from tsaudit.model.profile import Database
from tsaudit.report import findings, html


def arranged(count: int, **changes: object) -> findings.FindingsView:
    result = a_result(a_rule_result(*(a_finding(Subject("main", f"m{n:05}"), **changes) for n in range(count))))
    return findings.arrange(findings.items_of(result, None, ()))


def test_items_come_in_the_order_of_every_output() -> None:
    mild = a_finding(Subject("main", "mild"), affected_series=10**6)
    bad = a_finding(Subject("main", "bad"), Severity.CRITICAL)
    result = a_result(a_rule_result(mild, bad))
    items = findings.items_of(result, None, ())
    assert [(i.rule, i.finding) for i in items] == list(result.findings())
    assert [i.finding for i in items] == [bad, mild]


def test_anchors_are_the_fingerprints_and_never_alike() -> None:
    items = findings.items_of(a_result(a_rule_result(a_finding(), a_finding(message="again"))), None, ())
    assert items[0].anchor == f"f-{items[0].fingerprint}"
    assert items[1].anchor == f"f-{items[0].fingerprint}-2"


def test_arrange_when_few_shows_all_in_full() -> None:
    view = arranged(30)
    assert (len(view.full), view.compact, view.open_count) == (30, (), 30)


def test_arrange_when_many_shows_the_rest_in_short_and_loses_none() -> None:
    view = arranged(10_000)
    anchors = [i.anchor for i in view.full] + [i.anchor for g in view.compact for p in g.places for i in p.items]
    assert len(set(anchors)) == view.open_count == 10_000
    assert 10 < len(view.full) < 100
    assert view.compact[0].places[0].items[0].text == "Tag host has too many values."
    assert view.compact[-1].places[-1].items[-1].text == ""
    assert view.left_out == 0


def test_arrange_when_there_is_no_room_for_all_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "ROOM_BYTES", 60_000)
    view = arranged(5_000)
    anchors = [i.anchor for i in view.full] + [i.anchor for g in view.compact for p in g.places for i in p.items]
    assert 500 < len(anchors) < 1_500
    assert (view.left_out, view.open_count) == (5_000 - len(anchors), 5_000)
    names = [p.name for g in view.compact for p in g.places]
    assert names == [f"m{n:05}" for n in range(len(view.full), len(anchors))]


def test_compact_finding_without_room_for_its_message_shows_its_figure() -> None:
    view = arranged(10_000, observed=0.5, unit="ratio")
    assert view.compact[-1].places[-1].items[-1].text == "50%"


def test_compact_names_the_database_only_where_there_are_several() -> None:
    def names(*databases: str) -> set[str]:
        many = (a_finding(Subject(d, f"m{n}"), fix="x" * 1500) for d in databases for n in range(400))
        view = findings.arrange(findings.items_of(a_result(a_rule_result(*many)), None, ()))
        return {p.name.rpartition("/")[0] for g in view.compact for p in g.places}

    assert names("main") == {""}
    assert names("main", "shop") == {"main", "shop"}


def test_muted_findings_stand_apart_until_their_day_has_passed() -> None:
    incidents = sample.the_incidents()
    items = findings.items_of(sample.the_result(), None, incidents)
    view = findings.arrange(items)
    assert [i.rule.code for i in view.muted] == ["NAM001"]
    assert view.muted_count == 1
    later = findings.items_of(replace(sample.the_result(), day=date(2026, 7, 1)), None, incidents)
    assert findings.arrange(later).muted == ()


def test_what_is_back_although_it_was_muted_says_so_beside_its_headline() -> None:
    first, *others = sample.the_incidents()
    made = Decision(DecisionKind.MUTE, "ada", "known", NOW, date(2026, 6, 30), Severity.NOTE)
    back = [replace(first, exceeded=made), *others]
    shown = html.page(sample.the_contents(incidents=back))
    words = f"Back, although muted by ada until 2026-06-30 (known): that covers note, now {first.severity}"
    assert f'<span class="why">{words}</span></summary>' in shown


def test_state_description() -> None:
    finding = a_finding()

    def state(**changes: object) -> str:
        incident = sample.an_incident("CAR001", finding.subject, finding, **changes)
        result = a_result(a_rule_result(finding), target=sample.TARGET)
        return findings.items_of(result, None, (incident,))[0].state

    assert state() == "Open since 2026-03-20, first seen 2026-03-19"
    assert state(first_seen=date(2026, 3, 20)) == "Open since 2026-03-20"
    assert state(state=IncidentState.WATCHING) == "Watched since 2026-03-19, not yet an incident"
    assert state(state=IncidentState.RESOLVED, resolved=date(2026, 3, 25)) == "Resolved on 2026-03-25"
    note = a_result(a_rule_result(a_finding(severity=Severity.NOTE)))
    assert findings.items_of(note, None, ())[0].state == "For information, opens no incident"
    assert findings.items_of(a_result(a_rule_result(finding)), None, ())[0].state == "No incident"


def test_statements_are_the_measurements_own_then_the_targets() -> None:
    item = findings.items_of(sample.the_result(), sample.the_profile(), ())[0]
    assert findings.statements(item, sample.the_profile(), full=True) == [
        ("series_listing", 'SHOW SERIES FROM "http_requests"')
    ]
    assert findings.statements(item, None, full=True) == []
    other = replace(item, finding=replace(item.finding, facts=("measurements", "no_such_fact")))
    assert findings.statements(other, sample.the_profile(), full=True) == [("measurements", "SHOW MEASUREMENTS")]


def test_statements_about_a_database_are_those_about_the_findings_own() -> None:
    item = findings.items_of(sample.the_result(), sample.the_profile(), ())[0]
    item = replace(item, finding=replace(item.finding, facts=("retention", "measurements")))
    own = item.finding.subject.database
    databases = [Database(name, statements={"retention": f"of {name}"}) for name in ("a", own, "z")]
    profile = replace(sample.the_profile(), databases=tuple(databases))
    assert findings.statements(item, profile, full=True) == [
        ("retention", f"of {own}"),
        ("measurements", "SHOW MEASUREMENTS"),
    ]
    elsewhere = replace(item, finding=replace(item.finding, subject=Subject()))
    assert findings.statements(elsewhere, profile, full=True) == [("measurements", "SHOW MEASUREMENTS")]


def commands(**changes: object) -> list[str]:
    finding = a_finding()
    incident = sample.an_incident("CAR001", finding.subject, finding, **changes)
    result = a_result(a_rule_result(finding), target=sample.TARGET)
    return [command.text for command in findings.items_of(result, None, (incident,))[0].commands]


def test_commands_are_those_that_tsaudit_takes() -> None:
    """Parsed by the command itself, which would reject an unknown option and a missing one."""
    from tsaudit.cli import main
    from tsaudit.cli.incidents import ack, mute, reopen

    top = click.Context(main, **main.context_settings)
    known = {"ack": ack, "mute": mute, "reopen": reopen}
    decided = {"decision": sample.the_incidents()[2].decision}
    for text in (*commands(), *commands(**decided)):
        program, name, mark, *options = shlex.split(text)
        assert program == "tsaudit"
        parsed = known[name].make_context(name, [mark, *options], parent=top).params
        whole = fingerprint(sample.TARGET, "CAR001", Subject("main", "cpu", "host"))
        assert parsed["fingerprints"] == (whole[:8],)


def test_commands_fit_the_state() -> None:
    assert [text.split()[1] for text in commands()] == ["ack", "mute"]
    acknowledged = commands(decision=sample.the_incidents()[2].decision)
    assert [text.split()[1] for text in acknowledged] == ["reopen", "mute"]
    assert [text.endswith("--replace") for text in acknowledged] == [False, True]
    assert commands(state=IncidentState.RESOLVED) == []
    assert findings.items_of(a_result(a_rule_result(a_finding())), None, ())[0].commands == ()


def test_statements_of_a_catalog_are_shown_as_they_were_sent() -> None:
    """They compare names of schemas and tables; only those about rows compare values."""
    item = findings.items_of(sample.the_result(), sample.the_profile(), ())[0]
    assert item.measurement is not None
    rows, names = "WHERE a = 'ada@example.org'", "WHERE nspname = 'shop2'"
    measurement = replace(item.measurement, statements={"row_sample": rows})
    item = replace(
        item, measurement=measurement, finding=replace(item.finding, facts=("row_sample", "retention", "measurements"))
    )
    databases = (Database(item.finding.subject.database, statements={"retention": names}),)
    profile = replace(sample.the_profile(), databases=databases, statements={"measurements": names})
    for full, shown in ((True, rows), (False, "WHERE a = 'adx@xxxxxxx.xxx'")):
        assert findings.statements(item, profile, full=full) == [
            ("row_sample", shown),
            ("retention", names),
            ("measurements", names),
        ]
