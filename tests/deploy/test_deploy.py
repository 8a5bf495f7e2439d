"""The files in deploy/ that start audits: each is run as its scheduler would, or checked against its schema."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.metrics import write_metrics
from tsaudit import load_settings
from tsaudit.cli.discovery import variable_of

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SECRETS = {"TSAUDIT_HISTORY": "sqlite:///history.db", "TSAUDIT_SHOP_PASSWORD": "it's a $ecret"}


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """With a `tsaudit` that runs this checkout, and a `pip` that only writes down what it is asked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    run = f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m tsaudit "$@"\n'
    for name, text in (("tsaudit", run), ("pip", '#!/bin/sh\necho "$@" > "$0.asked"\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of audits: a database, tsaudit.yaml, and a file with secrets."""
    folder = tmp_path / "audits"
    folder.mkdir()
    write_metrics(folder / "metrics.db")
    (folder / "tsaudit.yaml").write_text(
        "history: ${TSAUDIT_HISTORY}\ntargets:\n  - {name: metrics, engine: sqlite, url: 'sqlite:///metrics.db'}\n"
    )
    (folder / "secrets.env").write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in SECRETS.items()))
    return folder


def run(
    command: list[str], environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """With this environment and nothing else."""
    return subprocess.run(command, env=dict(environment), cwd=cwd, capture_output=True, text=True, check=False)


def documented_for_cron() -> list[str]:
    """The lines for cron in docs/deploy.md."""
    return re.findall(r"^0 6 \* .*", (ROOT / "docs/deploy.md").read_text(), re.MULTILINE)


def test_crontab_has_the_documented_line() -> None:
    lines = [line for line in (DEPLOY / "cron/crontab").read_text().splitlines() if line and line[0] not in "#M"]
    assert lines == documented_for_cron()[:1]


@pytest.mark.parametrize("line", documented_for_cron(), ids=["alone", "and the other"])
def test_crontab_when_cron_runs_a_line_audits(folder: Path, bin_folder: Path, tmp_path: Path, line: str) -> None:
    minute, hour, *rest, command = line.split(maxsplit=5)
    assert (int(minute), int(hour), rest) == (0, 6, ["*", "*", "*"])
    assert "%" not in command, "cron takes it for the end of the line"
    command = command.replace("/srv/audits", str(folder)).replace("/opt/tsaudit/bin", str(bin_folder))
    command = command.replace("/var/lib/node_exporter/textfile", str(tmp_path))
    has_metrics = "tsaudit metrics" in line
    # As cron of Debian does: a shell, and these four variables.
    home = {"HOME": str(tmp_path), "LOGNAME": "audits", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}

    done = run(["/bin/sh", "-c", command], home, tmp_path)

    assert done.returncode == 1, "that of the audit: " + done.stderr
    assert done.stdout.startswith("metrics  warning  ")
    assert (folder / "history.db").is_file()
    assert (tmp_path / "tsaudit.prom").is_file() == has_metrics
    (folder / "secrets.env").unlink()
    assert run(["/bin/sh", "-c", command], home, tmp_path).returncode not in (0, 1)


def test_files_name_the_password_as_init_does() -> None:
    files = (ROOT / "docs/deploy.md", DEPLOY / "cronjob/cronjob.yaml", DEPLOY / "github/audit.yml")
    named = {name for file in files for name in re.findall(r"\w*SHOP_PASSWORD", file.read_text())}
    assert named == {variable_of("shop", "PASSWORD")}


@pytest.fixture
def units(folder: Path, bin_folder: Path, tmp_path: Path) -> Path:
    """The units with the paths of this test."""
    if not shutil.which("systemd-analyze"):
        if os.environ.get("CI"):
            pytest.fail("systemd-analyze is missing; .ci/servers installs it")
        pytest.skip("systemd-analyze is missing: apt-get install systemd")
    copied = tmp_path / "units"
    copied.mkdir()
    for file in (DEPLOY / "systemd").iterdir():
        text = file.read_text().replace("/opt/tsaudit/bin", str(bin_folder)).replace("/etc/tsaudit", str(folder))
        (copied / file.name).write_text(text)
    return copied


def test_units_when_systemd_verifies_them(units: Path) -> None:
    files = [str(units / name) for name in ("tsaudit.service", "tsaudit.timer")]
    done = run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *files], os.environ)
    assert (done.returncode, done.stderr) == (0, "")
    (units / "tsaudit.service").write_text(
        (units / "tsaudit.service").read_text().replace("ProtectHome", "ProtectHuman")
    )
    assert "ProtectHuman" in run(["systemd-analyze", "verify", "--man=no", *files], os.environ).stderr
    timer = dict(line.split("=", 1) for line in (units / "tsaudit.timer").read_text().splitlines() if "=" in line)
    said = run(["systemd-analyze", "calendar", timer["OnCalendar"]], os.environ | {"LC_ALL": "C"}).stdout
    assert "Normalized form: *-*-* 06:00:00 UTC" in said


def documented(heading: str, folder: Path, place: str) -> Path:
    """A tsaudit.yaml with what docs/deploy.md says below the heading about the folder `place`, a folder of the test."""
    section = (ROOT / "docs/deploy.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    kept, config = folder / "kept", folder / "config/tsaudit.yaml"
    kept.mkdir()
    config.parent.mkdir()
    targets = f"targets:\n  - {{name: metrics, engine: sqlite, url: 'sqlite:///{folder}/metrics.db'}}\n"
    config.write_text(block.replace(place, str(kept)) + targets)
    return config


def is_kept(folder: Path) -> bool:
    """Where it was to be, and nothing beside tsaudit.yaml, where the service and the container cannot write."""
    beside = [file.name for file in (folder / "config").iterdir()]
    return beside == ["tsaudit.yaml"] and (folder / "kept/history.db").is_file() and (folder / "kept/reports").is_dir()


def test_service_when_its_command_runs_audits(units: Path, folder: Path) -> None:
    config = documented("systemd", folder, "/var/lib/tsaudit")
    service = dict(line.split("=", 1) for line in (units / "tsaudit.service").read_text().splitlines() if "=" in line)
    command = [part.replace(str(folder / "tsaudit.yaml"), str(config)) for part in shlex.split(service["ExecStart"])]
    done = run(command, SECRETS | {"PATH": "/usr/bin:/bin"}, folder / "kept")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("metrics  warning  ")
    assert is_kept(folder)


def workflow() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "github/audit.yml").read_text())


def test_workflow_when_checked_against_the_schema(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = run([*check, str(DEPLOY / "github/audit.yml")], os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((DEPLOY / "github/audit.yml").read_text().replace("timeout-minutes", "timeout-seconds"))
    assert run([*check, str(wrong)], os.environ).returncode == 1


def test_workflow_when_its_shell_runs_writes_the_summary(folder: Path, bin_folder: Path, tmp_path: Path) -> None:
    steps = [step for step in workflow()["jobs"]["audit"]["steps"] if "run" in step]
    assert [step["name"] for step in steps] == ["Install", "Audit"]
    summary = tmp_path / "summary.md"
    for step in steps:
        # An expression inside of a script would run whatever its value contains.
        assert "${{" not in step["run"]
        script = tmp_path / "step.sh"
        script.write_text(step["run"])
        values = {name: SECRETS.get(name, "https://github.example/7") for name in step.get("env", {})}
        path = {"PATH": f"{bin_folder}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(summary)}
        done = run(["bash", "-e", str(script)], path | values, folder)
        assert done.returncode == 0, done.stderr
    assert (bin_folder / "pip.asked").read_text() == "install --quiet ./tsaudit[postgresql]\n"
    assert "metrics" in summary.read_text()
    (report,) = (folder / ".tsaudit/reports/metrics").glob("2*.html")
    assert "https://github.example/7" in report.read_text()
    (kept,) = [step["with"] for step in workflow()["jobs"]["audit"]["steps"] if "upload" in step.get("uses", "")]
    assert report.is_relative_to(folder / kept["path"])


def instructions() -> dict[str, str]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "container/Containerfile").read_text())
    return dict(line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#"))


def test_container_when_its_command_runs_audits(folder: Path, bin_folder: Path) -> None:
    found = instructions()
    assert set(found) == {"FROM", "ARG", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    command = [*json.loads(found["ENTRYPOINT"]), *json.loads(found["CMD"])]
    config = documented("Container", folder, found["WORKDIR"])
    command = [part.replace("/etc/tsaudit/tsaudit.yaml", str(config)) for part in command]
    command[0] = str(bin_folder / command[0])
    done = run(command, SECRETS | {"PATH": "/usr/bin:/bin"}, folder / "kept")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("metrics  warning  ")
    assert is_kept(folder)
    run_line = found["RUN"].partition("&&")
    copied, place = found["COPY"].split()
    wheel = folder / copied.replace("*", "0.1.0-py3-none-any")
    wheel.touch()
    install = run_line[0].replace(place, f"{folder}/")
    assert run(["/bin/sh", "-c", install], {"PATH": f"{bin_folder}:/bin", "EXTRAS": "x,y"}).returncode == 0
    assert (bin_folder / "pip.asked").read_text() == f"install --no-cache-dir {wheel}[x,y]\n"
    assert f"--uid {found['USER']}" in run_line[2]


def test_manifests_when_checked_against_the_schema(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "kubernetes_validate", "--strict"]
    done = run([*check, str(DEPLOY / "cronjob/cronjob.yaml")], os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((DEPLOY / "cronjob/cronjob.yaml").read_text().replace("backoffLimit", "backofLimit"))
    assert run([*check, str(wrong)], os.environ).returncode != 0


def test_manifests_when_read_agree_with_the_image_and_the_configuration(tmp_path: Path) -> None:
    config, job = yaml.safe_load_all((DEPLOY / "cronjob/cronjob.yaml").read_text())
    (tmp_path / "tsaudit.yaml").write_text(config["data"]["tsaudit.yaml"])
    settings = load_settings(tmp_path / "tsaudit.yaml", variables=SECRETS)
    assert [target.name for target in settings.targets] == ["shop"]
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == json.loads(instructions()["CMD"])
    assert pod["securityContext"]["runAsUser"] == int(instructions()["USER"])
    assert container["volumeMounts"][0]["mountPath"] == "/etc/tsaudit"
