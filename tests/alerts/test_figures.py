"""The block of one incident: the summary as it is in all outputs, the notes, and the statement as it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.alerts.builders import an_incident
from tests.alerts.slack_double import problem_of
from tests.builders import DAY, a_finding
from tsaudit.alerts.blocks import characters, texts
from tsaudit.alerts.message import summary_block
from tsaudit.history.lifecycle import Decision, DecisionKind, Incident
from tsaudit.model.finding import Finding, Forecast, Limit, Severity
from tsaudit.summary import Summary, SummaryFigure, of_finding

LIMIT = Limit("x.y", 100.0, "values", "house", "default")


def lines(finding: Finding, **changes: Any) -> list[str]:
    incident = an_incident(finding, **changes)
    summary = of_finding(finding, incident.code, (), "demo", DAY)
    return shown(incident, summary)


def shown(incident: Incident, summary: Summary, *, full_values: bool = False, with_step: bool = True) -> list[str]:
    block = summary_block(incident, summary, "🟠", full_values=full_values, with_step=with_step)
    assert problem_of({"text": "x", "blocks": [block]}) is None
    return [line for text in texts(block) for line in text.splitlines()]


def test_headline_figures_and_first_step_are_all_there_is() -> None:
    forecast = Forecast(100.0, 12.0, 8.0, 20.0, 0.05, None, "linear", provisional=False, unit="values")
    finding = a_finding(observed=60.0, limit=LIMIT, unit="values", forecast=forecast)
    assert lines(finding) == [
        "🟠 main/cpu: Tag host has too many values",
        "Now: 60 values",
        "Limit: 100 values (tsaudit's default, 60% of it reached)",
        "Time left: about 12 days (80% range 8 to 20)",
        "Make host a field.",
    ]


def test_what_is_not_known_is_left_out() -> None:
    assert lines(a_finding()) == ["🟠 main/cpu: Tag host has too many values", "Make host a field."]


def test_the_headline_and_our_own_labels_are_bold() -> None:
    summary = Summary(
        "All *is* <!channel> lost", (SummaryFigure("Now", "3"),), "First step of 2: act: now.", "", "tsaudit plan t"
    )
    block = summary_block(an_incident(), summary, "🟠", full_values=False, with_step=True)
    runs = block["elements"][0]["elements"]
    assert [run["text"] for run in runs if run.get("style") == {"bold": True}] == [
        "All *is* <!channel> lost",
        "Now:",
        "First step of 2:",
    ]
    assert shown(an_incident(), summary)[-1] == "First step of 2: act: now."
    assert shown(an_incident(), replace(summary, rest=""))[-1] == "First step of 2: act: now."


@pytest.mark.parametrize("statement", ["SELECT `a`, * FROM t WHERE b < 3 && c", "SELECT  'two  blanks'\n  FROM t"])
def test_the_statement_is_a_code_block_as_it_is(statement: str) -> None:
    summary = Summary("Bad", (), "First step of 2: drop it.", statement)
    block = summary_block(an_incident(), summary, "🟠", full_values=False, with_step=True)
    assert block["elements"][1] == {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": statement}],
    }


@pytest.mark.parametrize("statement", ["SELECT 'a\u202eb'", "SELECT\t1", "SELECT 1\r\nFROM t", "x" * 3_000])
def test_a_statement_that_would_have_to_be_changed_is_not_shown(statement: str) -> None:
    block = summary_block(an_incident(), Summary("Bad", (), "Do.", statement), "🟠", full_values=False, with_step=True)
    assert [part["type"] for part in block["elements"]] == ["rich_text_section"]


def test_a_step_that_stands_elsewhere_is_not_repeated() -> None:
    summary = Summary("Bad", (), "First step of 2: drop it.", "DROP x", "tsaudit plan demo")
    assert shown(an_incident(), summary, with_step=False) == ["🟠 Bad"]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (("0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad92"), "UUID"),
        (("d41d8cd98f00b204e9800998ecf8427e",), "hash"),
        (("2026-03-01T12:00:00Z", "1772366400"), "timestamp"),
        (("https://a.example/1", "web-01.example.com"), "URL, host name"),
        (("Europe", "Asia"), ""),
        (("0.0000000000000000000",), "decimal number"),
        ((), ""),
    ],
)
def test_samples_are_said_in_a_word(samples: tuple[str, ...], said: str) -> None:
    notes = [line for line in lines(a_finding(samples=samples)) if line.startswith(("Kind of values", "Samples"))]
    assert notes == ([f"Kind of values: {said}"] if said else [])


def test_samples_are_shown_in_full_if_configured() -> None:
    incident = an_incident(a_finding(samples=("a-1", "b-2", "a-1", "c-3")))
    assert "Samples: a-1, b-2" in shown(incident, Summary("Bad"), full_values=True)


def test_decisions_are_named() -> None:
    ack = Decision(DecisionKind.ACK, "ann", "on it", datetime.now(UTC), None, Severity.WARNING)
    mute = Decision(DecisionKind.MUTE, "bob", "later", datetime.now(UTC), DAY, Severity.WARNING, 5.0, "values")
    finding = a_finding(observed=9.0, unit="values")
    assert "Acknowledged by ann: on it" in lines(finding, decision=ack)
    back = lines(finding, exceeded=replace(mute, until=DAY + timedelta(days=9)))
    assert "Back, although muted by bob until 2026-04-09 (later): that covers up to 5 values, now 9 values" in back


def test_whoever_decided_by_a_reaction_is_named_by_slack() -> None:
    ack = Decision(DecisionKind.ACK, "U0ANN", "reaction :eyes: in Slack", datetime.now(UTC), None, Severity.WARNING)
    block = summary_block(an_incident(decision=ack), Summary("Bad"), "🟠", full_values=False, with_step=True)
    runs = block["elements"][0]["elements"]
    assert {"type": "user", "user_id": "U0ANN"} in runs
    assert {"type": "emoji", "name": "eyes"} in runs
    assert texts(block)[0].endswith("Acknowledged by U0ANN with :eyes:")
    assert problem_of({"text": "x", "blocks": [block]}) is None


def test_the_block_of_any_incident_is_bounded() -> None:
    long = "<&" * 5_000
    summary = Summary(long, (SummaryFigure(long, long, long),) * 3, long, long)
    incident = an_incident(a_finding(samples=(long, long, long)))
    block = summary_block(incident, summary, "🟠", full_values=True, with_step=True)
    assert characters([block]) <= 5_500
    # Even with a message of its own, a decision, and an earlier one, the first incident of an alert has to fit.
    why = Decision(DecisionKind.ACK, long, long, datetime.now(UTC), None, Severity.WARNING)
    finding = a_finding(message=long, samples=(long, long, long))
    said = summary_block(
        an_incident(finding, decision=why, exceeded=why), summary, "🟠", full_values=True, with_step=True
    )
    assert characters([said]) <= 6_000
