"""Runs audits, in this process or with another Python interpreter, and summarizes their results."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

Say = Callable[[str], None]

_NAMES: Final = """
import json, sys
from tsaudit import load_settings
from tsaudit.cli.errors import CallState, guarded
sys.exit(guarded(CallState(), lambda: print(json.dumps([target.name for target in load_settings().targets]))))
"""
"""The program that prints the names of all targets. As for each command, errors are lines on stderr."""

_FINAL: Final = (1, 2)
"""Exit codes after which another attempt would fail in the same way: 1 if Python finds no such module, 2 if something
in tsaudit.yaml is wrong.
"""


# Not a TsauditError: reading a DAG must not import tsaudit, which may only be installed for another interpreter.
class AuditError(Exception):
    """There was no audit at all. The error's text is one line, or several about tsaudit.yaml."""

    def __init__(self, text: str, *, is_final: bool = True) -> None:
        super().__init__(text)
        self.is_final = is_final
        """Whether another attempt would fail in the same way."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to audit, and how."""

    config: str
    """The path of tsaudit.yaml."""
    targets: Sequence[str] | None = None
    """The names of the targets; None for all."""
    day: date | None = None
    """The logical day in UTC; None for today."""
    workers: int = 4
    run_url: str | None = None
    notify: bool = True
    """Whether to send messages; otherwise they stay queued until the next audit."""
    will_retry: bool = False
    """Whether Airflow repeats the task if it fails: until then, nobody is notified."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of `${NAME}`, in addition to those of the environment."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an order."""

    audits: dict[str, dict[str, Any]]
    """Target to its audit, as returned by `essentials`."""
    problems: tuple[str, ...]
    """The problems that must fail the task, one line each."""


class InProcess:
    """Audits in this process. tsaudit is imported only when it is used."""

    def run(self, order: Order, say: Say) -> Done:
        """Run the audits of the order. Raises AuditError."""
        from tsaudit import run_audit
        from tsaudit.cli import results

        try:
            outcome = run_audit(
                self._settings(order.config, order.variables),
                order.targets,
                day=order.day,
                workers=order.workers,
                run_url=order.run_url,
                notify=order.notify,
                will_retry=order.will_retry,
                out=say,
                progress=lambda target, line: say(f"{target}: {line}"),
            )
        except Exception as error:
            raise _in_a_line(error) from None
        return Done({one.target: essentials(results.of_run(one)) for one in outcome.runs}, outcome.problems)

    def targets(self, config: str, variables: Mapping[str, str]) -> list[str]:
        """The names of all targets. Raises AuditError."""
        try:
            return [target.name for target in self._settings(config, variables).targets]
        except Exception as error:
            raise _in_a_line(error) from None

    def stop(self) -> None:
        """Nothing to do: Airflow ends the task's process."""

    def _settings(self, config: str, variables: Mapping[str, str]) -> Any:
        from tsaudit import load_settings

        return load_settings(config, variables={**os.environ, **variables})


def _in_a_line(error: Exception) -> AuditError:
    """The error in one line, as the command prints it: Airflow logs the text of an error, and masks only secrets that
    it knows itself.
    """
    from tsaudit.cli.errors import Exit, in_a_line

    code, text = in_a_line(error)
    return AuditError(text, is_final=code is Exit.USAGE)


class Outside:
    """Audits with another Python interpreter, in whose environment tsaudit is installed."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._running: subprocess.Popen[str] | None = None

    def run(self, order: Order, say: Say) -> Done:
        """Run the audits of the order with `tsaudit audit --format json`. Raises AuditError."""
        options = ["--format", "json", "--fail-on", "never", "--workers", str(order.workers), "--config", order.config]
        options += ["--day", order.day.isoformat()] if order.day else []
        options += ["--run-url", order.run_url] if order.run_url else []
        options += [] if order.notify else ["--no-notify"]
        options += ["--will-retry"] if order.will_retry else []
        code, out, said = self._call(
            ["-m", "tsaudit", "audit", *options, "--", *(order.targets or ())], order.config, order.variables, say
        )
        try:
            audits = {one["target"]: essentials(one) for one in json.loads(out)}
        except ValueError:
            raise AuditError("\n".join(self._problems(code, said)), is_final=code in _FINAL) from None
        except KeyError as error:
            text = f"the tsaudit of {self._python} does not report {error}; install the same version as here"
            raise AuditError(text) from None
        return Done(audits, tuple(self._problems(code, said)) if code else ())

    def targets(self, config: str, variables: Mapping[str, str]) -> list[str]:
        """The names of all targets. Raises AuditError."""
        code, out, said = self._call(["-c", _NAMES], config, variables, lambda _line: None)
        if code:
            raise AuditError("\n".join(self._problems(code, said)), is_final=code in _FINAL)
        found: list[str] = json.loads(out)
        return found

    def stop(self) -> None:
        """End the other interpreter."""
        if self._running is not None:
            self._running.terminate()

    def _problems(self, code: int, said: Sequence[str]) -> list[str]:
        """The problems that tsaudit printed; if there are none, how Python ended."""
        found = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
        end = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return found or [f"{self._python} {end}{f': {said[-1]}' if said else ''}"]

    def _call(
        self, arguments: Sequence[str], config: str, variables: Mapping[str, str], say: Say
    ) -> tuple[int, str, list[str]]:
        """Exit code, stdout, and the lines of stderr, each of which is passed to `say` immediately."""
        environment = {**os.environ, **variables, "TSAUDIT_CONFIG": config, "NO_COLOR": "1"}
        said: list[str] = []
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            try:
                self._running = subprocess.Popen(
                    # In isolated mode: modules in the folder or on the path of Airflow's processes are not meant for
                    # this interpreter.
                    [self._python, "-I", "-X", "utf8", *arguments],
                    env=environment,
                    # The task's stdin is its connection to Airflow.
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise AuditError(f"{self._python} cannot be started: {error.strerror or error}") from None
            with self._running as running:
                try:
                    for line in running.stderr or ():
                        said.append(line.rstrip())
                        say(said[-1])
                except BaseException:
                    # The task has timed out, and would otherwise wait here for the end of the audit.
                    running.kill()
                    raise
            out.seek(0)
            return running.returncode, out.read(), said


def essentials(found: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an audit's result that is stored in Airflow: the verdict, the summary, and the figures.

    `found` is what `tsaudit audit --format json` prints about a target. None means not measured, or not known.
    """
    summary, measured = found["summary"], found["measured"] or {}
    open_ = Counter(one["severity"] for one in found["findings"] if not one["muted"])
    return {
        "target": found["target"],
        "day": found["day"],
        "verdict": found["verdict"],
        "error": found["error"],
        "final": found["final"],
        "headline": summary["headline"],
        "figures": {one["label"]: _figure(one) for one in summary["figures"]},
        "first_step": summary["first_step"],
        "statement": summary["statement"],
        "report": found["report"],
        "findings": {severity: open_[severity] for severity in ("critical", "warning", "note")},
        "new": found["new"],
        "series": measured.get("series"),
        "measurements": measured.get("measurements"),
        "not_measured": measured.get("not_measured"),
        "seconds": found["seconds"],
    }


def counted(audit: Mapping[str, Any]) -> str:
    """The open findings of an audit by severity, such as `1 critical, 2 warnings`; empty without any."""
    from tsaudit.text.findings import tally

    return tally(Counter(audit["findings"]).elements())


def verdict_line(audit: Mapping[str, Any]) -> str:
    """Verdict, what is wrong or the worst of it, how much there is, without a warning, what keeps tsaudit from saying
    more, and at the end, where the report is.
    """
    from tsaudit.text import ended

    text = f"{audit['target']}: {audit['verdict']}. {audit['error'] or audit['headline']}"
    findings, lacking = counted(audit), ""
    if not audit["error"] and not audit["findings"].get("critical") and not audit["findings"].get("warning"):
        # The headline counts the notes itself.
        findings, lacking = "", audit["first_step"]
    report = f"Report: {audit['report']}" if audit["report"] else ""
    *before, last = filter(None, ("; ".join(filter(None, (text, findings))), lacking.removesuffix("."), report))
    return " ".join([*map(ended, before), last])


def _figure(figure: Mapping[str, str]) -> str:
    return f"{figure['value']} ({figure['note']})" if figure["note"] else figure["value"]
