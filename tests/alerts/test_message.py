from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alerts.builders import RUN, a_context, an_incident, subject
from tests.alerts.slack_double import problem_of
from tests.alerts.test_blocks import HOSTILE
from tests.builders import DAY, a_finding
from tests.examples import examples
from tsaudit.alerts import message
from tsaudit.alerts.blocks import MAX_BLOCKS, MAX_TOTAL, Message, characters, size, texts
from tsaudit.alerts.message import Closed
from tsaudit.config.settings import Reactions
from tsaudit.history.lifecycle import Decision, DecisionKind, Incident
from tsaudit.model.change import LeaveOut
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Forecast, Limit, Severity, Verdict
from tsaudit.model.plan import Plan, Requested, Step, StepKind

GOLDEN = Path(__file__).parent / "golden"
LIMIT = Limit("high-series-cardinality.max_series", 100_000, "series", "house", "plan influxdb-cloud-free")
FORECAST = Forecast(10_000_000, 12.0, 8.0, 20.0, 0.05, date(2026, 3, 1), "exponential", provisional=True, unit="series")


def full_incident(number: int = 1, severity: Severity = Severity.CRITICAL, **changes: Any) -> Incident:
    finding = a_finding(
        subject(number),
        severity,
        message="Measurement table_1 has 1,234,567 series.",
        fix="Drop tag host.\nThen wait.",
        observed=1_234_567.0,
        limit=LIMIT,
        unit="series",
        main_contributor="host",
        share=0.92,
        samples=("web-01.example.com", "web-02.example.com", "db-01.example.com", "db-02.example.com"),
        since=DAY - timedelta(days=30),
        forecast=FORECAST,
    )
    return an_incident(replace(finding, **changes))


def everything(count: int) -> list[Incident]:
    return [full_incident(n, Severity.CRITICAL if n % 3 == 0 else Severity.WARNING) for n in range(count)]


def hostile_incident() -> Incident:
    evil = "<!channel> @here <http://evil.example|click> *bold* _it_ ~st~ `code` &amp; \u202egpj.exe\x1b[31m\n> q"
    return full_incident(
        main_contributor=evil, message=evil, fix=evil, samples=(evil, "`", ""), subject=Subject(evil, evil, evil)
    )


def resolved(number: int) -> Closed:
    return Closed(an_incident(a_finding(subject(number))), "resolved")


def shape(name: str) -> Message:
    context = a_context(verdict=Verdict.CRITICAL)
    shapes: dict[str, Callable[[], Message]] = {
        "one": lambda: message.alert(context, [full_incident()], mention="U0DBA"),
        "two_owners_notes": lambda: message.alert(
            context,
            [
                replace(
                    full_incident(),
                    decision=Decision(DecisionKind.ACK, "ann", "on it", datetime.now(UTC), None, Severity.WARNING),
                ),
                an_incident(a_finding(subject(2))),
            ],
            [
                resolved(3),
                Closed(_muted(4), "muted until 2026-04-07"),
            ],
        ),
        "all_clear": lambda: message.alert(context, [], [resolved(1)]),
        "hostile": lambda: message.alert(context, [hostile_incident()]),
        "news": lambda: message.news(
            context, everything(2), frozenset({everything(1)[0].fingerprint}), mention="S0OPS"
        ),
        "over": lambda: message.over(context, [resolved(1), resolved(2)]),
        "moved": lambda: message.moved(context, "#elsewhere"),
        "files_only": lambda: message.alert(a_context(report_url="/srv/r.html", run_url=None), [full_incident()]),
    }
    return shapes[name]()


def _muted(number: int) -> Incident:
    made = datetime.now(UTC)
    mute = Decision(DecisionKind.MUTE, "ann", "@here moving", made, date(2026, 4, 7), Severity.WARNING)
    return replace(an_incident(a_finding(subject(number))), decision=mute)


@pytest.mark.golden
@pytest.mark.parametrize(
    "name", ["one", "two_owners_notes", "all_clear", "hostile", "news", "over", "moved", "files_only"]
)
def test_message_keeps_its_shape(name: str) -> None:
    made = shape(name)
    assert problem_of(made.to_payload()) is None
    text = (
        json.dumps(made.to_payload() | {"terminal": made.readable().splitlines()}, indent=1, ensure_ascii=False) + "\n"
    )
    path = GOLDEN / f"{name}.json"
    if os.environ.get("TSAUDIT_REBASELINE"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def body(made: Message) -> str:
    return "\n".join(text for block in made.blocks for text in texts(block))


def test_alert_shows_the_summary_of_the_worst_first() -> None:
    made = message.alert(a_context(), [an_incident(), full_incident()])
    said = body(made)
    assert [block["type"] for block in made.blocks[:3]] == ["header", "rich_text", "context"]
    parts = (
        "🔴 Measurement table_1 has 1,234,567 series, main contributor host (92%), growing since 2026-03-01",
        (
            "Now: 1,234,567 series (in table_1)\n"
            "Limit: 100,000 series (of plan influxdb-cloud-free, now 12.3 times that)\n"
        ),
        "Time left: about 12 days (80% range 8 to 20)",
        "Drop tag host.",
        f"`{full_incident().fingerprint[:8]}`",
        f"#f-{full_incident().fingerprint}|details>",
        "🟠 main/cpu: Tag host has too many values",
        RUN,
    )
    places = [said.index(part) for part in parts]
    assert places == sorted(places)


def test_samples_are_words_unless_configured_otherwise() -> None:
    redacted = body(message.alert(a_context(), [full_incident()]))
    full = body(message.alert(a_context(), [full_incident()], full_values=True))
    assert "web-01" not in redacted
    assert "Kind of values: host name\n" in redacted
    assert "Samples: web-01.example.com, web-02.example.com, db-01.example.com\n" in full
    assert "db-02" not in full


def a_plan(at: Subject) -> Plan:
    """Two steps, the first of which drops a tag."""
    step = Step(StepKind.STORED, "Drop tag host.", "ALTER TABLE t DROP COLUMN host")
    return Plan(at, (Requested(LeaveOut(at, "host"), ("CAR001",)),), (step, step))


def test_the_first_step_of_a_plan_stands_once() -> None:
    at = Subject("main", "t")
    change = LeaveOut(at, "host")
    incidents = [full_incident(n, changes=(change,), subject=replace(at, column=f"c{n}")) for n in (1, 2)]
    made = message.alert(a_context(plans=(a_plan(at),)), incidents)
    assert body(made).count("Step 1 of 2: Drop tag host.") == 1
    assert body(made).count("ALTER TABLE t DROP COLUMN host") == 1
    assert body(made).count("|whole plan>: `tsaudit plan demo t`") == 1
    without = message.alert(a_context(plans=(a_plan(at),), report_url=None), incidents)
    assert body(without).count("whole plan: `tsaudit plan demo t`") == 1


@pytest.mark.parametrize("count", [1, 2, 20, 500, 5_000])
def test_any_number_of_incidents_fits(count: int) -> None:
    made = message.alert(a_context(), everything(count), [resolved(n) for n in range(count)], mention="U1")
    assert problem_of(made.to_payload()) is None
    assert len(made.blocks) <= MAX_BLOCKS
    assert characters(made.blocks) + size(made.text) <= MAX_TOTAL
    assert len(made.about) == count


def test_worst_come_first_and_the_rest_is_counted() -> None:
    made = message.alert(a_context(), everything(500))
    shown = sum("details>" in text for block in made.blocks for text in texts(block))
    assert 10 <= shown < 30
    assert "🟠" not in body(made)
    assert f"and {500 - shown} more ({167 - shown} critical, 333 warnings): the report lists them all" in body(made)


def test_the_rest_of_one_severity_is_counted_once() -> None:
    made = message.alert(a_context(), [full_incident(n, Severity.WARNING) for n in range(500)])
    shown = sum("details>" in text for block in made.blocks for text in texts(block))
    assert f"and {500 - shown} more warnings: the report lists them all" in body(made)


def test_incidents_furthest_over_the_limit_come_first() -> None:
    mild, wild = full_incident(1, observed=100_001.0), full_incident(2, observed=9e9)
    said = body(message.alert(a_context(), [mild, wild]))
    assert said.index("table_2") < said.index("table_1")


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(HOSTILE, min_size=8, max_size=8), st.integers(1, 12))
def test_no_foreign_text_rings_links_or_bursts_a_limit(words: list[str], count: int) -> None:
    name, measurement, column, text, fix, main_contributor, sample, run = words
    incident = full_incident(
        subject=Subject(name * 40, measurement, column),
        message=text * 40,
        fix=fix * 40,
        main_contributor=main_contributor * 40,
        samples=(sample * 40, sample, sample),
    )
    incidents = [replace(incident, fingerprint=f"{n:016x}") for n in range(count)]
    context = a_context(run_url=f"https://dagster.example/{run}")
    closed = [Closed(i, f"now with {name}") for i in incidents]
    for made in (
        message.alert(context, incidents, closed, mention="U0DBA"),
        message.alert(context, incidents, closed, full_values=True),
        message.news(context, incidents),
        message.over(context, closed),
    ):
        assert problem_of(made.to_payload()) is None
        assert characters(made.blocks) + size(made.text) <= MAX_TOTAL
        json.dumps(made.to_payload()).encode()
        # Rich text has no markup, and the double accepts nothing but text in it.
        marked = "\n".join(t for block in made.blocks if block["type"] != "rich_text" for t in texts(block))
        for piece in (made.text, marked):
            assert "<!" not in piece
            assert set(_after("<@", piece)) <= {"U0DBA>"}
            links = {part.split("|", 1)[0].split("#f-")[0] for part in _after("<http", piece)}
            assert all(p.startswith(("s://reports.example/", "s://dagster.example/")) for p in links)


def _after(mark: str, text: str) -> list[str]:
    return [part.split(" ", 1)[0] for part in text.split(mark)[1:]]


def test_mention_is_a_user_or_a_group_and_nothing_else() -> None:
    assert message.address("U123") == "<@U123>"
    assert message.address("S123") == "<!subteam^S123>"
    assert message.address("<!channel>") == "<@channel>"


def test_text_alone_tells_the_worst() -> None:
    made = message.alert(a_context(), everything(100), mention="U0DBA")
    first, second, *_, last = made.text.splitlines()
    assert first.startswith("<@U0DBA> 🔴 Critical: demo, 100 open incidents")
    assert second.startswith("critical main/table_0: Measurement table_1 has 1,234,567 series")
    assert last.startswith("(and ")
    assert last.endswith(" more)")


def test_about_lists_every_incident_shown_or_not() -> None:
    incidents = everything(100)
    assert message.alert(a_context(), incidents).about == {i.fingerprint: str(i.severity) for i in incidents}


def test_readable_shows_names_as_they_are() -> None:
    said = message.alert(a_context(), [full_incident(message="a < b & c")]).readable()
    assert "a < b & c" in said
    assert "report: https://reports.example/demo/2026-03-31.html" in said
    assert "`" not in said


def test_reactions_that_do_something_are_named() -> None:
    context = a_context(reactions=Reactions(mute="tada", mute_for=timedelta(days=1)))
    made = message.alert(context, [full_incident()])
    hint = "React to act on all of this: :eyes: acknowledges, :tada: mutes for 1 day"
    assert texts(made.blocks[-2]) == [hint]
    assert Message.from_payload(made.to_payload()) == made
    without = (message.alert(context, []), message.alert(a_context(), [full_incident()]))
    nothing = message.alert(a_context(reactions=Reactions(ack="", mute="")), [full_incident()])
    assert not any("React" in str(m.blocks) for m in (*without, nothing))
