"""Runs the cells of one engine, many at a time, and says what became of each.

A cell is `tsaudit audit` in a process of its own, with a history of its own, against a target that has the fault. What
is looked at is what its owner would see: the exit code, the JSON, the incident, the queued message, and the time and
memory it took.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from tests.engines.influxdb2.conversations import is_kept_back
from tests.faults.engine import Engine, Scene, Stage, stage_of
from tests.faults.expectations import Fault, Outcome
from tsaudit.history import incidents
from tsaudit.history.store import Store
from tsaudit.model.figures import How, Reason
from tsaudit.model.profile import Profile

DEADLINES_S: Final = {True: (4.0, 1.5), False: (120.0, 60.0)}
"""Whether the peer keeps the audit waiting to the budget's deadline and the limit of a statement. Where it does not, a
busy machine must not change the outcome."""
GRACE_S: Final = 10.0
MOST_MEMORY: Final = 300_000_000
DAY: Final = "2026-03-31"
TARGET: Final = "shop"
_PATIENCE_S: Final = 600.0
"""For one cell with everything before it: on a starved machine the limits, which count its own time only, come late."""
_AT_ONCE: Final = 6
_HEAVY_AT_ONCE: Final = 2
_UNSEEMLY: Final = (
    "Traceback",
    "internal error in tsaudit",
    "internal error:",
    "<urllib3",
    "ConnectionPool(",
    "object at 0x",
    "InternalError",
    "(Background on",
)
"""What no line for people has in it: whoever reads it is no developer of tsaudit or of a driver."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of one audit."""

    fault: Fault | None
    """None for the healthy one."""
    outcome: Outcome | None
    """None where it fits none of them; `problems` then says why."""
    cause: str
    """The line that says why the target was not audited, else that of the first gap."""
    seconds: float
    cpu_s: float
    peak_bytes: int
    problems: tuple[str, ...]
    """What must not be, whatever the outcome."""
    profile: Profile | None = None


def complaints(fault: Fault, observed: Observed) -> list[str]:
    """What is not as expected; nothing when all is."""
    found = list(observed.problems)
    if observed.outcome not in fault.expected:
        wanted = " or ".join(sorted(fault.expected))
        found.append(f"it is {observed.outcome or 'nothing known'}; expected is {wanted}")
    elif observed.outcome is not Outcome.COMPLETE and not re.search(fault.cause, observed.cause, re.IGNORECASE):
        found.append("the cause is not named")
    return found


class ForkServer:
    """Starts commands; see `forkserver`."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "DAGSTER_DISABLE_TELEMETRY": "1"}
        command = [sys.executable, "-m", "tests.faults.forkserver"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=Path(__file__).parents[2]
        )
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, **job: Any) -> dict[str, Any]:
        """What became of it, once it has ended."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = future
            assert self._process.stdin
            self._process.stdin.write(json.dumps({"id": number, **job}).encode() + b"\n")
            self._process.stdin.flush()
        return future.result(_PATIENCE_S)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            found = json.loads(line)
            if "id" in found:
                self._waiting.pop(found["id"]).set_result(found)
        for number in list(self._waiting):
            self._waiting.pop(number).set_exception(RuntimeError("the fork server ended before the command"))


class Row:
    """The cells of one engine."""

    def __init__(self, engine: Engine, folder: Path, server: ForkServer) -> None:
        self.engine, self._folder, self._server = engine, folder, server
        self._history = folder / "history.db"
        Store.open(f"sqlite:///{self._history}").close()
        self.healthy = self._observe(None, engine.healthy())

    def run(self, faults: Iterable[Fault]) -> dict[Fault, Observed | str]:
        """What became of each, or why there is no such thing with this engine. Some come last, and alone."""
        staged = {fault: stage_of(self.engine, fault) for fault in faults}
        alone = {fault: stage for fault, stage in staged.items() if fault.name in ("restart", "rights")}
        found: dict[Fault, Observed | str] = {f: s for f, s in staged.items() if isinstance(s, str)}
        with ThreadPoolExecutor(_HEAVY_AT_ONCE) as heavy, ThreadPoolExecutor(_AT_ONCE) as others:
            begun = {
                fault: (heavy if fault.heavy else others).submit(self._observe, fault, stage)
                for fault, stage in staged.items()
                if not isinstance(stage, str) and fault not in alone
            }
            found |= {fault: future.result() for fault, future in begun.items()}
        found |= {f: self._observe(f, stage) for f, stage in alone.items() if not isinstance(stage, str)}
        for fault, observed in found.items():
            if not isinstance(observed, str) and complaints(fault, observed):
                # Many at once on a busy machine may keep each other waiting. What is wrong with tsaudit stays wrong.
                found[fault] = self._observe(fault, staged[fault])
        return {fault: found[fault] for fault in staged}

    def _observe(self, fault: Fault | None, stage: Stage) -> Observed:
        folder = self._folder / (f"{fault.moment or 'file'}-{fault.name}" if fault else "healthy")
        shutil.rmtree(folder, ignore_errors=True)  # of the first try
        folder.mkdir()
        shutil.copyfile(self._history, folder / "history.db")
        deadline_s, _ = budget = DEADLINES_S[fault is not None and fault.is_slow]
        with stage(folder) as scene:
            (folder / "tsaudit.yaml").write_text(yaml.safe_dump(_configuration(self.engine.name, scene, budget)))
            took = self._server.run(
                folder=str(folder),
                env={**_environment(), **self.engine.environment},
                arguments=["audit", "--format", "json", "--no-notify", "--day", DAY],
                limit_s=deadline_s + GRACE_S + 5,
                without_override=scene.without_override,
                watch=scene.watch,
            )
            complaint = scene.check()
        observed = self._judged(fault, folder, took, deadline_s + GRACE_S)
        return replace(observed, problems=(*observed.problems, complaint)) if complaint else observed

    def _judged(self, fault: Fault | None, folder: Path, took: Mapping[str, Any], allowed_s: float) -> Observed:
        seconds, cpu_s, peak = took["seconds"], took["cpu_s"], took["peak_bytes"]
        printed = (folder / "stdout").read_text(errors="replace"), (folder / "stderr").read_text(errors="replace")
        problems = [f"`{word}` is printed" for word in _UNSEEMLY if any(word in text for text in printed)]
        if took["is_killed"]:
            return Observed(
                fault, None, "", seconds, cpu_s, peak, ("it was still there after the deadline and 15 s", *problems)
            )
        if seconds > allowed_s:
            problems.append(f"it took {seconds:.1f} s; allowed are {allowed_s:g}")
        if fault and peak > self.healthy.peak_bytes + MOST_MEMORY:
            more = (peak - self.healthy.peak_bytes) / 1e6
            problems.append(f"it took {more:.0f} MB more than the healthy audit; allowed are {MOST_MEMORY / 1e6:.0f}")
        try:
            (found,) = json.loads(printed[0])
        except ValueError:
            shown = " ".join(printed[1].split())[:300]
            return Observed(
                fault, None, shown, seconds, cpu_s, peak, (f"no JSON, exit code {took['code']}: {shown}", *problems)
            )
        outcome, cause, profile, more_problems = _outcome(folder, found, took["code"])
        problems += more_problems
        if fault and profile and self.healthy.profile:
            problems += _untrue(profile, self.healthy.profile, outcome)
        return Observed(fault, outcome, cause, seconds, cpu_s, peak, tuple(problems), profile)


def _configuration(engine: str, scene: Scene, budget_s: tuple[float, float]) -> dict[str, Any]:
    budget = dict(zip(("deadline_s", "statement_timeout_s"), budget_s, strict=True))
    target = {"name": TARGET, "engine": engine, "budget": budget, **scene.settings}
    return {"history": "sqlite:///history.db", "targets": [target], "incidents": {"open_after": 1}}


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME", "LANG") if name in os.environ}
    return kept | {"RES_OPTIONS": "timeout:1 attempts:1"}


def _outcome(
    folder: Path, found: Mapping[str, Any], code: int
) -> tuple[Outcome | None, str, Profile | None, list[str]]:
    """Which outcome it is, the line of its cause, what was measured, and what does not fit together."""
    problems: list[str] = []
    with Store.open(f"sqlite:///{folder / 'history.db'}") as store:
        day = date.fromisoformat(DAY)
        profile = store.profile(TARGET, day)
        opened = [one for one in incidents.current(store, TARGET, day) if one.code == "TGT001"]
        with store.reading() as connection:
            queued = connection.exec_driver_sql("SELECT payload FROM delivery WHERE state = 'queued'").scalars().all()
    said = [one["message"] for one in found["findings"] if one["code"] == "TGT001"]
    gaps = (
        [gap for gap in profile.gaps if not is_kept_back(gap) and gap.reason is not Reason.PAST_DAY] if profile else []
    )
    judged = [one for one in found["rules"] if one["code"] != "TGT001" and one["outcome"] in ("pass", "fail")]
    if not said:
        cause = next((gap.detail for gap in gaps), "")
        if found["error"] or code == 3:
            problems.append(f"exit code {code} without TGT001: {found['error']}")
        if opened or any("TGT001" in text for text in queued):
            problems.append("an incident or a message without TGT001")
        if gaps and found["verdict"] == "ok":
            problems.append("verdict ok in spite of gaps")
        if not judged:
            problems.append(f"nothing was judged, and it is not said that the target was not audited: {cause}")
            return None, cause, profile, problems
        return (Outcome.GAPS if gaps else Outcome.COMPLETE), cause, profile, problems
    cause = str(found["error"] or said[0])
    expected = {
        f"exit code 3 (it was {code})": code == 3,
        "verdict unknown": found["verdict"] == "unknown",
        "one finding TGT001": len(said) == 1,
        "an open incident": [one.state for one in opened] == ["open"],
        "one line that says why": bool(found["error"]) and "\n" not in cause and len(cause) < 600,
        "the cause in the finding": cause in said[0],
        "a queued message with the cause": any(_in(cause, text) for text in queued),
    }
    problems += [f"missing: {what}" for what, holds in expected.items() if not holds]
    return (Outcome.PARTLY if judged else Outcome.NOT_AUDITED), cause, profile, problems


def _in(cause: str, payload: str) -> bool:
    """Whether the message says it, escaped and shortened as Slack wants it."""
    plain = payload.encode().decode("unicode_escape", errors="replace")
    # A headline ends without a period.
    return any(words in plain or words in payload for words in (cause, cause[:40].rstrip(".")))


def _untrue(profile: Profile, healthy: Profile, outcome: Outcome | None) -> list[str]:
    """Figures that are called exact and are not those of the healthy audit."""
    true = {m.name: m for m in healthy.measurements}
    wrong = []
    for measurement in profile.measurements:
        for name in ("series", "rows"):
            figure = getattr(measurement, name)
            right = getattr(true.get(measurement.name), name, None)
            if figure is not None and figure.source.how is How.EXACT and (right is None or figure.value != right.value):
                wrong.append(f"{measurement.name}: {name} {figure.value} is called exact")
    if outcome is Outcome.COMPLETE and {m.name for m in profile.measurements} != set(true):
        wrong.append("measurements are missing, and there is no gap")
    return wrong
