"""`tsaudit.yaml`: what is read from it, and what is said about what is wrong with it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit import secrets
from tsaudit.config import file as config_file
from tsaudit.config.file import ConfigError, advice, find, load, load_mapping
from tsaudit.config.settings import Settings
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.rules import all_rules
from tsaudit.text import printable

TARGET = "targets:\n  - name: a\n    engine: duckdb\n    url: duckdb:///a.db\n"


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "tsaudit.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def problems(folder: Path, text: str | bytes, *, resolve_env: bool = True) -> list[str]:
    """The problems, file name left out: `line: what`."""
    file = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(file, resolve_env=resolve_env)
    assert str(caught.value).splitlines() == list(caught.value.problems)
    return [line.removeprefix(f"{file}:") for line in caught.value.problems]


def test_load_when_file_is_minimal(tmp_path: Path) -> None:
    found = load(write(tmp_path, TARGET))
    assert [t.name for t in found.targets] == ["a"]
    assert found.targets[0].window == timedelta(days=30)
    assert found.owners.keys() == {"default"}


def test_slack_secret_when_a_file_ended_it_with_a_line_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_TOKEN", "xoxb-1\n")
    token = load(write(tmp_path, TARGET + "slack: {token: '${SLACK_TOKEN}'}\n")).slack.token
    assert token is not None
    assert token.get_secret_value() == "xoxb-1"


def test_paths_when_relative(tmp_path: Path) -> None:
    text = TARGET + "  - {name: b, engine: sqlite, url: 'sqlite:///data/b.db?mode=ro'}\n"
    found = load(write(tmp_path, text))
    assert [t.url.get_secret_value() for t in found.targets] == [
        f"duckdb:///{tmp_path}/a.db",
        f"sqlite:///{tmp_path}/data/b.db?mode=ro",
    ]
    assert found.history.get_secret_value() == f"sqlite:///{tmp_path}/.tsaudit/history.db"
    assert found.report.folder == f"{tmp_path}/.tsaudit/reports"


def test_paths_when_they_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    text = "report: {folder: ~/reports}\nhistory: sqlite:///~nobody-by-that-name/h.db\n" + TARGET
    found = load(write(tmp_path, text))
    assert found.report.folder == "/home/ada/reports"
    assert found.history.get_secret_value() == f"sqlite:///{tmp_path}/~nobody-by-that-name/h.db"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////abs/x.db",
        "sqlite:///:memory:",
        "duckdb:///md:cloud",
        "http://host:8086",
        "sqlite:///file:x?uri=true",
    ],
)
def test_urls_when_not_a_relative_file(tmp_path: Path, url: str) -> None:
    text = f"report: {{folder: 's3://bucket/x'}}\ntargets:\n  - {{name: a, engine: sqlite, url: '{url}'}}\n"
    found = load(write(tmp_path, text))
    assert found.targets[0].url.get_secret_value() == url
    assert found.report.folder == "s3://bucket/x"


def test_paths_when_file_itself_is_given_relatively(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, TARGET)
    monkeypatch.chdir(tmp_path)
    assert load("tsaudit.yaml").targets[0].url.get_secret_value() == f"duckdb:///{tmp_path}/a.db"


def test_scalars_when_yaml_would_guess_their_type(tmp_path: Path) -> None:
    text = (
        TARGET + "    username: no\n    password: 0123\n    limits: {high-series-cardinality.max_series: 1e6}\n"
        "    max_age: 2w\n"
    )
    target = load(write(tmp_path, text)).targets[0]
    assert target.username == "no"
    assert target.password is not None
    assert target.password.get_secret_value() == "0123"
    assert target.max_age == timedelta(weeks=2)
    assert target.limits == {"high-series-cardinality.max_series": 1e6}


def test_keys_when_nothing_stands_behind_them(tmp_path: Path) -> None:
    text = "slack:\nowners:\n  default:\n" + TARGET + "    databases:\n    password: ~\n"
    found = load(write(tmp_path, text))
    assert found.targets[0].password is None
    assert found.owners["default"].channel is None


def test_merge_when_targets_share_settings(tmp_path: Path) -> None:
    text = (
        "targets:\n  - &a\n    name: a\n    engine: duckdb\n    url: duckdb:////a\n    window: 1d\n"
        "  - <<: *a\n    name: b\n"
        "  - {<<: [{window: 3d}, *a], name: c}\n"
    )
    found = load(write(tmp_path, text)).targets
    assert [(t.name, t.window.days) for t in found] == [("a", 1), ("b", 1), ("c", 3)]


CASES = {
    "unknown key, nothing near": (
        TARGET + "slack: {zzz: 1}\n",
        "5: slack.zzz: unknown key; known here: token, webhook, severity, digest_weekday, reactions, base_url",
    ),
    "a day that is none": (
        TARGET + "slack: {digest_weekday: mondays}\n",
        "5: slack.digest_weekday: unknown value `mondays`, did you mean monday?",
    ),
    "a reaction that is none": (
        TARGET + "slack: {reactions: {ack: 'thumbs up'}}\n",
        "5: slack.reactions.ack: expected the name of a reaction such as `eyes`, got `thumbs up`",
    ),
    "a reaction twice": (
        TARGET + "slack: {reactions: {ack: ':zzz:'}}\n",
        "5: slack.reactions: ack and mute must be two different reactions",
    ),
    "unknown top key": (TARGET + "histroy: x\n", "5: histroy: unknown key, did you mean history?"),
    "missing": ("targets:\n  - name: a\n    engine: duckdb\n", "2: targets[0].url: is missing"),
    "no targets": ("slack: {}\n", "1: targets: is missing"),
    "null file": ("~", "1: is empty; begin it with `targets:`"),
    "empty targets": ("targets: []\n", "1: targets: is empty"),
    "engine under a name of others": (
        TARGET.replace("duckdb\n", "TimescaleDB\n"),
        "3: targets[0].engine: unknown engine `TimescaleDB`, did you mean postgresql?",
    ),
    "unknown engine": (
        TARGET.replace("duckdb\n", "postgres\n"),
        "3: targets[0].engine: unknown engine `postgres`, did you mean postgresql?",
    ),
    "list for text": (TARGET + "    owner: [x]\n", "5: targets[0].owner: expected text, got a list"),
    "text for a mapping": (TARGET + "slack: xoxb-1\n", "5: slack: expected `key: value` lines"),
    "rule that does not exist": (
        TARGET + "rules: {high-series-cardinalty: off}\n",
        "5: rules.high-series-cardinalty: there is no rule `high-series-cardinalty`, did you mean high-series-card",
    ),
    "setting of a rule": (TARGET + "rules: {CAR001: loud}\n", "5: rules.CAR001: "),
    "coverage switched off": (
        TARGET + "    measurements: {x: {rules: {TGT001: off}}}\n",
        "5: targets[0].measurements.x.rules.TGT001: cannot be switched off: it reports what was not audited",
    ),
    "text for limits": (TARGET + "limits: x\n", "5: limits: expected `key: value` lines, got `x`"),
    "number out of bounds": (
        TARGET + "    budget:\n      concurrency: 99\n",
        "6: targets[0].budget.concurrency: must be at most 16, got `99`",
    ),
    "zero seconds": (
        TARGET + "    budget: {deadline_s: 0}\n",
        "5: targets[0].budget.deadline_s: must be more than 0, got `0`",
    ),
    "not a number": (
        TARGET + "limits: {high-series-cardinality.max_series: nan}\n",
        "5: limits.high-series-cardinality.max_series: expected a number, not infinity, got `nan`",
    ),
    "unknown limit": (
        TARGET + "    limits:\n      high-series-cardinality.max: 1\n",
        "6: targets[0].limits.high-series-cardinality.max: there is no such limit, did you mean high-series-cardina",
    ),
    "unknown limit of measurements, nothing near": (
        TARGET + "    measurements: {x: {limits: {zz: 1}}}\n",
        "5: targets[0].measurements.x.limits.zz: there is no such limit; `tsaudit explain RULE` lists",
    ),
    "unknown plan": (
        TARGET + "    plan: influx-cloud-free\n",
        "5: targets[0].plan: unknown plan `influx-cloud-free`, did you mean influxdb-cloud-free?",
    ),
    "duration without unit": (
        TARGET + "    window: 30\n",
        "5: targets[0].window: expected a duration such as 30d, 12h, 15m, 90s, or 2w",
    ),
    "endless duration": (
        TARGET + "    window: 99999999w\n",
        "5: targets[0].window: must be between 0s and 36500d",
    ),
    "endless name": (
        TARGET.replace("name: a", "name: " + "a" * 101),
        "2: targets[0].name: is longer than 100 characters",
    ),
    "empty secret": (TARGET + "    password: ''\n", "5: targets[0].password: is empty"),
    "no default owner": (
        TARGET + "owners:\n  b: {}\n",
        "5: owners: needs an entry `default` for findings without another owner",
    ),
    "unknown owner of a route": (
        TARGET + "routes:\n  - owner: zoe\n",
        "6: routes[0].owner: owner `zoe` is not defined under `owners`",
    ),
    "unknown rule of a route": (
        TARGET + "routes:\n  - owner: default\n    rules: [TGT001, car01]\n",
        "7: routes[0].rules[1]: there is no rule `car01`, did you mean CAR001?",
    ),
    "unknown rule of a route, by its name": (
        TARGET + "routes:\n  - owner: default\n    rules:\n      - high-series-cardinalty\n",
        "8: routes[0].rules[0]: there is no rule `high-series-cardinalty`, did you mean high-series-cardinality?",
    ),
    "unknown target of a route": (
        TARGET.replace("name: a", "name: metrics") + "routes:\n  - owner: default\n    targets: [metrcs]\n",
        "7: routes[0].targets[0]: there is no target `metrcs`, did you mean metrics?",
    ),
    "unknown owner of a measurement": (
        TARGET + "    measurements:\n      cpu_*:\n        owner: zoe\n",
        "7: targets[0].measurements.cpu_*.owner: owner `zoe` is not defined under `owners`",
    ),
    "token and webhook": (
        TARGET + "slack:\n  token: x\n  webhook: https://y\n",
        "5: slack: set a token or a webhook, not both",
    ),
    "mention by name": (
        TARGET + "owners: {default: {mention: '@ada'}}\n",
        "5: owners.default.mention: expected the ID of a Slack user (U...) or user group (S...), not a name",
    ),
    "token on two lines": (
        TARGET + 'slack: {token: "xoxb-\\nsecret"}\n',
        "5: slack.token: contains blanks or characters that are not ASCII; copy it again from Slack",
    ),
    "webhook with a blank": (
        TARGET + "slack: {webhook: https://hooks.slack.com/services/T0/B0/se cret}\n",
        "5: slack.webhook: contains blanks or characters that are not ASCII; copy it again from Slack",
    ),
    "webhook without scheme": (
        TARGET + "slack: {webhook: hooks.slack.com/x}\n",
        "5: slack.webhook: must start with https://, as shown by Slack",
    ),
    "Slack elsewhere without scheme": (
        TARGET + "slack: {base_url: x}\n",
        "5: slack.base_url: must start with https://",
    ),
    "history in a target": (
        TARGET + "history: duckdb:///a.db\n",
        "5: history: is a target's address; the history must not be inside an audited database",
    ),
    "tag": (
        TARGET + "    username: !!python/name:os.system x\n",
        "5: text that begins with one of",
    ),
    "key that is a list": (TARGET + "? [a]\n: b\n", "5: a key must be a single text"),
    "merge of a text": (TARGET + "    <<: x\n", "5: `<<` takes `key: value` lines"),
    "list at the top": ("- a\n", "1: expected `key: value` lines"),
    "text at the top": ("a\n", "1: expected `key: value` lines"),
    "control character": (TARGET + "    owner: \x01\n", "5: contains a character that is not allowed in a text file"),
    "quote that a later one closes": (
        TARGET + '    group: "north\n    owner: "a"\n',
        "6: cannot be read, because of this line or one above",
    ),
    "text behind its quotes": (
        TARGET + "    group: 'it's'\n",
        "5: cannot be read, because of this line or one above",
    ),
    "blanks of a web page": (TARGET + "\u00a0slack: {}\n", "5: \\xa0slack: unknown key, did you mean slack?"),
    "list of entries without their dash": (
        "targets:\n  name: a\n  engine: duckdb\n  url: x\n",
        "1: targets: expected a list such as [a, b], got `key: value` lines",
    ),
    "a merge of what is not there": (
        TARGET + "    <<: *base\n",
        "5: text that begins with one of @ ` % & * ! | > ? needs quotes",
    ),
    "value that holds itself": ("targets: &x\n  - *x\n", "2: `*x` is inside `&x`: it would contain itself"),
    "deep nesting": ("targets: " + "[" * 200_000, "1: nested more than 40 levels deep"),
    "reference left open": (TARGET + "    username: ${A\n", "5: targets[0].username: write a reference as ${NAME}"),
    "reference with default": (TARGET + "    username: ${A:-x}\n", "5: targets[0].username: write a reference as"),
    "escape codes in a key": (TARGET + '"\\e[2J": x\n', "5: \\x1b[2J: unknown key"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_problem_when(tmp_path: Path, text: str | bytes, expected: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_problems_when_many_are_sorted_by_line(tmp_path: Path) -> None:
    text = (
        "histroy: x\ntargets:\n"
        "  - name: a\n    engin: duckdb\n    url: ${TSAUDIT_TEST_UNSET}\n"
        "  - name: a\n    engine: duckdb\n    url: x\n    owner: zoe\n    window: 3\n"
    )
    assert [line.split(":")[0] for line in problems(tmp_path, text)] == ["1", "4", "6", "9", "10"]


def test_engine_when_it_is_misspelt_or_none_of_them(tmp_path: Path) -> None:
    (near,) = problems(tmp_path, TARGET.replace("duckdb\n", "timstream\n"))
    assert near.startswith("3: targets[0].engine: ")
    assert "timestream" in near
    nothing_like_it = "0" * 30
    (far,) = problems(tmp_path, TARGET.replace("duckdb\n", f"'{nothing_like_it}'\n"))
    assert far.endswith(f"unknown engine `{nothing_like_it}`; one of {', '.join(ENGINES)}")


def test_reference_when_variable_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_PW", "p:a/s s")
    monkeypatch.setenv("TSAUDIT_TEST_N", "7")
    text = TARGET + (
        "    password: ${TSAUDIT_TEST_PW}\n    username: 'u-${TSAUDIT_TEST_N}-$${X}'\n"
        "    budget: {concurrency: '${TSAUDIT_TEST_N}'}\n"
    )
    target = load(write(tmp_path, text)).targets[0]
    assert target.password is not None
    assert target.password.get_secret_value() == "p:a/s s"
    assert target.username == "u-7-${X}"
    assert target.budget.concurrency == 7


def test_variables_of_a_target_that_are_not_set_keep_it_alone_from_being_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TSAUDIT_TEST_PW", "TSAUDIT_TEST_HOST"):
        monkeypatch.delenv(name, raising=False)
    second = TARGET.removeprefix("targets:\n").replace("name: a", "name: b")
    path = write(tmp_path, TARGET + "    password: ${TSAUDIT_TEST_PW}\n" + second)
    first, other = load(path).targets
    assert first.unset == (
        f"{path}:5: targets[0].password: the environment variable TSAUDIT_TEST_PW is not set; export it"
    )
    assert other.unset == ""
    with pytest.raises(ConnectorError, match="TSAUDIT_TEST_PW is not set"), open_connection(first):
        pass
    of_two = TARGET + "    username: ${TSAUDIT_TEST_HOST}\n    password: a${TSAUDIT_TEST_PW}\n"
    (both,) = load(write(tmp_path, of_two)).targets
    assert both.unset.startswith(f"{path}:5: targets[0].username: the environment variables TSAUDIT_TEST_HOST and TSA")


def test_reference_with_a_format_when_variable_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the file is right is not known without it."""
    monkeypatch.delenv("TSAUDIT_TEST_WINDOW", raising=False)
    (problem,) = problems(tmp_path, TARGET + "    window: ${TSAUDIT_TEST_WINDOW}\n")
    assert problem.startswith(
        "5: targets[0].window: the environment variable TSAUDIT_TEST_WINDOW is not set; export it"
    )


def test_reference_when_variable_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_PW", "")
    assert problems(tmp_path, TARGET + "    password: ${TSAUDIT_TEST_PW}\n") == ["5: targets[0].password: is empty"]


def test_value_of_a_variable_when_wrong_stays_out_of_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_PW", "hunter2")
    (found,) = problems(tmp_path, TARGET + "    budget: {max_rows: '${TSAUDIT_TEST_PW}'}\n")
    assert "hunter2" not in found
    assert "${TSAUDIT_TEST_PW}" in found


def test_secret_when_of_the_wrong_type_stays_out_of_the_message(tmp_path: Path) -> None:
    found = problems(tmp_path, TARGET + "    password: [hunter2]\nhistory: {hunter2: x}\n")
    assert len(found) == 2
    assert not any("hunter2" in line for line in found)


def test_secrets_when_references_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_SET", "7 * * * *")
    monkeypatch.delenv("TSAUDIT_TEST_UNSET", raising=False)
    text = (
        "history: ${TSAUDIT_TEST_UNSET}\nreport: {base_url: '${TSAUDIT_TEST_UNSET}'}\n"
        "targets:\n  - name: a\n    engine: sqlite\n    url: ${TSAUDIT_TEST_SET}\n"
        "    username: ${TSAUDIT_TEST_UNSET}\n    schedule: ${TSAUDIT_TEST_SET}\n"
    )
    found = load(write(tmp_path, text), resolve_env=False)
    assert found.history.get_secret_value() == "${TSAUDIT_TEST_UNSET}"
    assert found.targets[0].url.get_secret_value() == "${TSAUDIT_TEST_SET}"
    assert found.targets[0].username == "${TSAUDIT_TEST_UNSET}"
    assert found.targets[0].schedule == "7 * * * *"
    assert found.report.base_url == "${TSAUDIT_TEST_UNSET}"


def test_number_when_its_reference_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSAUDIT_TEST_UNSET", raising=False)
    (found,) = problems(tmp_path, TARGET + "    budget: {max_rows: '${TSAUDIT_TEST_UNSET}'}\n", resolve_env=False)
    assert "TSAUDIT_TEST_UNSET is not set" in found


def test_advice_when_secrets_are_plain_text(tmp_path: Path) -> None:
    text = (
        "slack:\n  token: xoxb\ntargets:\n"
        "  - {name: a, engine: influxdb1, url: 'http://h', password: p}\n"
        "  - {name: b, engine: influxdb1, url: 'http://u:p@h', password: '${P}'}\n"
        "  - {name: c, engine: influxdb1, url: 'http://u:${P}@h'}\n"
        "  - {name: d, engine: influxdb1, url: 'http://[u:p@h'}\n"
    )
    file = write(tmp_path, text)
    found = [line.removeprefix(f"{file}:").split(": ")[:2] for line in advice(file)]
    assert found == [
        ["2", "slack.token"],
        ["4", "targets[0].password"],
        ["5", "targets[1].url"],
        ["7", "targets[3].url"],
    ]


def test_advice_when_patterns_of_routes_meet_nothing(tmp_path: Path) -> None:
    text = TARGET + (
        "routes:\n"
        "  - {owner: default, rules: ['CAR*', 'XYZ*', TGT002, rules-not-evaluated]}\n"
        "  - {owner: default, targets: ['a*', 'prod-*', '?']}\n"
    )
    file = write(tmp_path, text)
    load(file)
    found = [line.removeprefix(f"{file}:") for line in advice(file)]
    assert [line.split(";")[0] for line in found] == [
        "6: routes[0].rules[1]: `XYZ*` matches no rule",
        "7: routes[1].targets[1]: `prod-*` matches no target",
    ]


def test_advice_when_patterns_of_rules_meet_nothing(tmp_path: Path) -> None:
    """Case and `_` for `-` do not count, here as little as when a rule is judged."""
    file = write(tmp_path, TARGET + "rules: {'car*': off, '*_CARDINALITY': note, 'XYZ*': off}\n")
    load(file)
    (found,) = (line.removeprefix(f"{file}:") for line in advice(file))
    assert found.startswith("5: rules.XYZ*: `XYZ*` matches no rule")


def test_advice_when_limits_are_of_rules_that_do_not_apply(tmp_path: Path) -> None:
    """`unbounded-array` is about documents, which DuckDB does not have; of several targets one that has is enough."""
    limit = "unbounded-array.max_items"
    assert any(t.name == "max_items" for r in all_rules() if r.name == "unbounded-array" for t in r.thresholds)
    with_limits = TARGET + f"    limits: {{{limit}: 5}}\n    measurements:\n      cpu: {{limits: {{{limit}: 5}}}}\n"
    file = write(tmp_path, with_limits + f"limits: {{{limit}: 9}}\n")
    found = [line.removeprefix(f"{file}:") for line in advice(file)]
    assert found == [
        f"5: targets[0].limits.{limit}: has no effect: unbounded-array does not apply to duckdb",
        f"7: targets[0].measurements.cpu.limits.{limit}: has no effect: unbounded-array does not apply to duckdb",
        f"8: limits.{limit}: has no effect: unbounded-array does not apply to duckdb",
    ]
    mongodb = "  - {name: docs, engine: mongodb, url: 'mongodb://localhost'}\n"
    file = write(tmp_path, TARGET + mongodb + f"limits: {{{limit}: 9}}\n")
    assert advice(file) == ()


def test_route_to_a_target_that_a_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_N", "a")
    file = write(tmp_path, TARGET + "routes: [{owner: default, targets: ['${TSAUDIT_TEST_N}']}]\n")
    assert load(file).routes[0].targets == ("a",)
    monkeypatch.delenv("TSAUDIT_TEST_N")
    assert load(file, resolve_env=False).routes[0].targets == ("${TSAUDIT_TEST_N}",)


def test_name_of_a_variable_that_is_not_set_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that need no secrets run without them, and show the target that the variable is named after."""
    monkeypatch.setenv("TSAUDIT_TEST_HALF", "hunter2hunter")
    address = "postgresql://u:${TSAUDIT_TEST_ANALYTICS_PASSWORD}${TSAUDIT_TEST_HALF}@h/d"
    targets = (
        "targets:\n"
        "  - {name: warehouse, engine: influxdb1, url: 'http://h', password: '${TSAUDIT_TEST_WAREHOUSE_PW}'}\n"
        f"  - {{name: analytics, engine: postgresql, url: '{address}'}}\n"
    )
    load(write(tmp_path, targets + "slack: {token: '${TSAUDIT_TEST_WAREHOUSE_TOKEN}'}\n"), needs=("history",))
    line = "warehouse and analytics: export TSAUDIT_TEST_ANALYTICS_PASSWORD"
    assert secrets.mask(line) == line
    assert secrets.mask("connecting with hunter2hunter") == "connecting with ***"


def test_user_stays_readable_unless_it_is_a_password(tmp_path: Path) -> None:
    """Statements to copy name the user."""
    targets = (
        "targets:\n"
        "  - {name: a, engine: influxdb1, url: 'http://h', username: ledger_reader, password: ledger_reader_pw1}\n"
        "  - {name: b, engine: postgresql, url: 'postgresql://steel_writer:steel_writer_pw@h/d'}\n"
        "  - {name: c, engine: postgresql, url: 'postgresql://samesame77:samesame77@h/d'}\n"
    )
    load(write(tmp_path, targets))
    line = "GRANT SELECT ON t TO ledger_reader; GRANT SELECT ON t TO steel_writer"
    assert secrets.mask(line) == line
    assert secrets.mask("TO samesame77, ledger_reader_pw1") == "TO ***, ***"


def test_find_when_given_named_or_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(config_file.VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=r"^tsaudit\.yaml: no such file; `tsaudit init` writes one$"):
        find()
    file = write(tmp_path, TARGET)
    assert find() == Path("tsaudit.yaml")
    monkeypatch.setenv(config_file.VARIABLE, str(file))
    assert find() == file
    with pytest.raises(ConfigError, match="no such file"):
        find("elsewhere.yaml")


def test_load_when_the_file_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_aliases_when_they_multiply_take_no_time(tmp_path: Path) -> None:
    levels = "".join(f"  - &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 30))
    found = problems(tmp_path, f"targets:\n  - &l0 [x]\n{levels}")
    assert found[0].startswith("2: targets[0]: expected `key: value` lines, got a list")


def test_mapping_when_it_stands_in_another_file(tmp_path: Path) -> None:
    target = {"name": "a", "engine": "sqlite", "url": "sqlite:///\x7f\U0001f600.db", "budget": {"concurrency": 2}}
    found = load_mapping({"targets": [target | {"databases": ("m",)}]}, label="defs.yaml", folder=tmp_path).targets[0]
    assert found.url.get_secret_value() == f"sqlite:///{tmp_path}/\x7f\U0001f600.db"
    assert found.budget.concurrency == 2
    assert found.databases == ("m",)


def test_mapping_when_wrong_names_the_file_without_a_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_mapping({"targets": [{"name": None, "engin": 3}]}, label="defs.yaml", folder=tmp_path)
    assert caught.value.problems[0] == "defs.yaml: targets[0].engin: unknown key, did you mean engine?"


def test_owner_when_its_reference_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSAUDIT_TEST_UNSET", raising=False)
    (found,) = problems(tmp_path, TARGET + "    owner: ${TSAUDIT_TEST_UNSET}\n", resolve_env=False)
    assert found.startswith("5: targets[0].owner: the environment variable TSAUDIT_TEST_UNSET is not set")


def test_schema_when_published_describes_every_key() -> None:
    schema = config_file.json_schema()
    assert set(schema["properties"]) == set(Settings.model_fields)
    undescribed = [
        f"{name}.{key}"
        for name, part in schema["$defs"].items()
        for key, value in part.get("properties", {}).items()  # an enumeration has none
        if not value.get("description")
    ]
    assert undescribed == []
    assert schema["$defs"]["Target"]["properties"]["window"]["type"] == "string"


def test_printable_when_text_is_hostile() -> None:
    assert printable("a\x1b[31m\u202eb\nc") == "a\\x1b[31m\\u202eb\\nc"
    assert len(printable("x" * 1000, 50)) == 50


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["${A}", "$${", "duckdb", "influxdb1", "30d", "*", "<<", "default"]),
)
KEYS = st.one_of(
    st.sampled_from(
        [*Settings.model_fields, "name", "engine", "url", "default", "owner", "window", "budget", "max_rows", "columns"]
    ),
    st.text(max_size=5),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
LIMITED = settings(deadline=None, max_examples=examples(60))


@LIMITED
@given(
    top=st.dictionaries(KEYS, TREES, max_size=5), targets=st.lists(st.dictionaries(KEYS, TREES, max_size=5), max_size=2)
)
def test_load_when_the_tree_is_random_never_breaks(tmp_path: Path, top: dict[str, object], targets: object) -> None:
    file = write(tmp_path, yaml.safe_dump(top | {"targets": targets}, allow_unicode=True))
    lines: tuple[str, ...] = (f"{file}: no problem",)
    try:
        load(file)
    except ConfigError as error:
        lines = error.problems
    assert lines
    assert all(line.startswith(f"{file}:") and line.isprintable() for line in lines)


@LIMITED
@given(text=st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@`,? \n\t#~<$\\0\x00\u2028"), max_size=40))
def test_load_when_the_text_is_random_never_breaks(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load(write(tmp_path, text))
