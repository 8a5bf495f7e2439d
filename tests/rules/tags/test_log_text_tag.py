"""TAG001: free text as tags."""

from __future__ import annotations

from tests.builders import a_measurement, a_profile, a_tag, values_over_time
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.finding import Finding, Outcome, RuleResult
from tsaudit.model.profile import ValuesKind
from tsaudit.model.subject import Subject
from tsaudit.rules.tags.log_text_tag import log_text_tag as rule


def _messages(count: int) -> tuple[str, ...]:
    return tuple(
        f"ERROR user {i * 7919 % 100_000} not found: session 2024-03-{i % 28 + 1:02}T12:{i % 60:02}:03Z"
        for i in range(count)
    )


CASES = (
    Case(
        breaks=dataset(table("app_log", [{"message": m, "level": "error"} for m in _messages(40)])),
        keeps=dataset(table("app_log", [h | {"level": v} for h in hosts(30) for v in ("error", "info")])),
        subject=Subject("", "app_log", "message"),
        main_contributor="message",
    ),
)


def _judged(sample: tuple[str, ...], values: int, **limits: float) -> RuleResult:
    return run_rule(rule, a_profile(a_measurement(tags=(a_tag("message", values, sample),))), limits)


def test_silence_when_below_the_fewest_values() -> None:
    assert _judged(_messages(19), 19).outcome is Outcome.PASS
    assert _judged(_messages(20), 20).outcome is Outcome.FAIL
    assert _judged(_messages(20), 20, min_values=21).outcome is Outcome.PASS


def test_silence_when_values_are_words() -> None:
    assert (
        _judged(
            tuple(f"{a}_{b}" for a in ("red", "big", "old", "new", "raw") for b in ("cat", "dog", "cow", "hen")), 20
        ).outcome
        is Outcome.PASS
    )


def test_finding_when_uuids_stand_within_the_values() -> None:
    sample = tuple(f"job/{i:08x}-1c2d-4e5f-8a9b-0123456789ab/done" for i in range(30))
    (finding,) = _judged(sample, 30).findings
    assert "texts that contain times or UUIDs" in finding.message


def test_finding_when_values_are_times() -> None:
    (finding,) = _judged(tuple(f"2024-03-01T12:{i:02}:00Z" for i in range(40)), 40).findings
    assert "contains times" in finding.message


def test_attributes_as_json_are_left_to_their_own_rule() -> None:
    flat = tuple(f'{{"env": "prod", "host": "web{i}"}}' for i in range(30))
    assert _judged(flat, 30).outcome is Outcome.PASS
    nested = tuple(f'{{"find": "users", "filter": {{"id": {i}}}}}' for i in range(30))
    (finding,) = _judged(nested, 30).findings
    assert "contains JSON documents" in finding.message


def test_sentences_among_short_values_when_they_are_many() -> None:
    aliases = tuple(f"uplink {i}" for i in range(38)) + tuple(f"to rack {i} / via panel" for i in range(26))
    assert _judged(aliases, 99).outcome is Outcome.PASS
    assert _judged(aliases, 100).outcome is Outcome.FAIL


def test_urls_when_they_are_many() -> None:
    sample = tuple(f"https://shop.example/item/{i}?ref=mail" for i in range(64))
    assert _judged(sample, 999).outcome is Outcome.PASS
    assert _judged(sample, 1000).outcome is Outcome.FAIL


def test_samples_when_the_tag_is_reported() -> None:
    (finding,) = _judged(_messages(64), 5000).findings
    assert finding.samples == _messages(64)[:3]
    assert finding.message == "Tag message contains log messages: 5,000 distinct values in 3 series."


def test_texts_that_never_end_are_told_from_a_list_of_them() -> None:
    def watched(kind: ValuesKind) -> Finding:
        tags = (a_tag("message", 5000, _messages(64), over_time=values_over_time(kind)),)
        (finding,) = run_rule(rule, a_profile(a_measurement(tags=tags))).findings
        return finding

    endless, ending, unknown = watched("unbounded"), watched("bounded"), watched("unknown")
    assert endless.message.endswith("in 3 series. It gains 310 values a day and is not leveling off.")
    assert endless.evidence[-1].value == "unbounded over 28 days: beta 1, 98% of a week's values were new"
    assert ending.evidence[-1].label == "values over time" != unknown.evidence[-1].label
