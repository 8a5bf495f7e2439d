"""Each typical mistake in tsaudit.yaml is answered by one line with the place, the cause, and the correction."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import CliRunner
from tests.config.mistakes import HARMLESS, INFLUX, LIBRARY_WORDS, MET, MISTAKES
from tsaudit.cli import main
from tsaudit.cli.errors import Exit
from tsaudit.config.file import ConfigError, load


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "tsaudit.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_answered_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSAUDIT_NOT_SET", raising=False)
    mistake = MISTAKES[name]
    file = written(tmp_path, mistake.text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    (line,) = caught.value.problems
    assert line.startswith(f"{file}:{mistake.place}: ")
    said = line.removeprefix(f"{file}:")
    assert re.search(mistake.cause, said)
    assert mistake.correction in said
    assert not re.findall(LIBRARY_WORDS, said, re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    ["@{}", "%{}", "|{}", "'{}'s'", "{{{}", "[{}", "#{}", "*{}", "!{}", "a: {}", '"{}', "!<{}>", "&{}: x", "}}{}"],
)
def test_secret_that_cannot_be_read_stays_out_of_the_message(text: str, tmp_path: Path) -> None:
    secret = text.format("hunter2")
    flow = f'{{"targets": [{{"name": "a", "engine": "influxdb1", "url": "http://db7", "password": {secret}}}]}}'
    below = [] if text.startswith("#") else [f"{INFLUX}    password:\n      {secret}\n"]
    for file in (f"{INFLUX}    password: {secret}\n", f"{INFLUX}    password: {secret} x\n", flow, *below):
        with pytest.raises(ConfigError) as caught:
            load(written(tmp_path, file))
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["slack", "targets", "owners"])
@pytest.mark.parametrize("form", ["{}", "[{}]", "[[{}]]"])
def test_secret_in_place_of_keys_stays_out_of_the_message(key: str, form: str, tmp_path: Path) -> None:
    """Somebody may write a token where `token:` and the token belong; an owner has nothing secret."""
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, f"{'' if key == 'targets' else INFLUX}{key}: {form.format('https://u:hunter2@x/')}\n"))
    assert "hunter2" not in str(caught.value) or key == "owners"


@pytest.mark.parametrize(
    "wrong",
    [
        "report: https://me:hunter2@db7/",
        "report: {base_url: 'ftp://me:hunter2@db7/'}",
        "owners: {default: https://hooks.slack.com/services/T024BE7LH/hunter2hunter2}",
        "routes: [{owner: https://me:hunter2@db7}]",
    ],
)
def test_credentials_in_the_wrong_place_stay_out_of_the_message(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, f"{INFLUX}{wrong}\n"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["name", "engine", "databases", "schedule", "owner"])
def test_address_under_another_key_is_quoted_without_its_password(name: str, tmp_path: Path) -> None:
    target = {"name": "metrics", "engine": "influxdb1", "url": "http://db7", name: "https://me:hunter2@db7/x"}
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, f"targets:\n  - {json.dumps(target)}\n"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("form", ["{token:hunter2}", "{token hunter2}", "{token=hunter2}"])
def test_value_without_a_blank_before_it_is_not_ignored(form: str, tmp_path: Path) -> None:
    """To YAML, all of it is a key without a value, which counts as absent where the key is known."""
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, f"{INFLUX}slack: {form}\n"))
    assert caught.value.problems[0].endswith(":5: slack: write `key: value`, with a blank after the `:`")
    with pytest.raises(ConfigError, match=r"budget\.5: unknown key"):
        load(written(tmp_path, f"{INFLUX}    budget: {{deadline_s: 1,5}}\n"))


def test_keys_in_place_of_an_address_are_not_taken_for_a_text_in_braces(tmp_path: Path) -> None:
    wrong = INFLUX.replace("url: http://db7:8086", "url:\n      host: db7\n      port: 8086")
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, wrong))
    assert caught.value.problems[0].endswith("targets[0].url: expected text, got `key: value` lines")


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_clear_is_read(name: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, HARMLESS[name])).targets


def test_command_answers_a_mistake_with_its_exit_code(tmp_path: Path) -> None:
    mistake = MET["a severity cut short"]
    file = written(tmp_path, mistake.text)
    done = CliRunner().invoke(main, ["check", "-c", str(file)])
    assert done.exit_code == Exit.USAGE
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {file}:{mistake.place}: ")
