"""The engines of the matrix, its table as a document, and a command that runs it: `python -m tests.faults.matrix`."""

from __future__ import annotations

import argparse
import atexit
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from tests.faults import file_engine, greptimedb_engine, http_engines, mongodb_engine, postgresql_engine
from tests.faults.engine import NO_SUCH_ANSWER, Engine
from tests.faults.expectations import ANSWERS, FILES, MOMENTS, NETWORK, Fault, Moment, Outcome
from tests.faults.runner import ForkServer, Observed, Row, complaints
from tests.faults.wire_engine import None_, why_none
from tsaudit.engines.registry import ENGINES as SETTINGS

ENGINES: Final[Mapping[str, Callable[[], Engine]]] = {
    "influxdb1": http_engines.influxdb1,
    "influxdb2": http_engines.influxdb2,
    "influxdb3": http_engines.influxdb3,
    "timestream": http_engines.timestream,
    "postgresql": postgresql_engine.postgresql,
    "greptimedb": greptimedb_engine.greptimedb,
    "mongodb": mongodb_engine.mongodb,
    "sqlite": file_engine.sqlite,
    "duckdb": file_engine.duckdb,
}
_NONE: Final[Mapping[str, None_]] = {
    "postgresql": postgresql_engine.NONE,
    "greptimedb": greptimedb_engine.NONE,
    "mongodb": mongodb_engine.NONE,
}


def faults_of(engine: str) -> Sequence[Fault]:
    own = FILES if SETTINGS[engine].is_a_file else NETWORK
    return [_expected_of(engine, fault) for fault in (*own, *ANSWERS)]


def _expected_of(engine: str, fault: Fault) -> Fault:
    """An index of series was read before the statements that fail: what is left is never nothing."""
    if fault.moment not in (Moment.MEASURE, Moment.ANSWER) or not SETTINGS[engine].has_series_index:
        return fault
    return replace(fault, expected=fault.expected - {Outcome.NOT_AUDITED})


def name_of(fault: Fault) -> str:
    """As in `list-401`."""
    return f"{fault.moment or 'file'}-{fault.name}"


@cache
def _fork_server() -> ForkServer:
    """One for all engines: what it imports takes longer than an audit. It ends with this process."""
    server = ForkServer()
    atexit.register(server.close)
    return server


@contextmanager
def running(engine: str) -> Iterator[Row]:
    """The engine's server, and an audit of it that found nothing wrong."""
    with (
        closing(ENGINES[engine]()) as opened,
        # Below a folder of pytest's own, which nobody else may enter, the tests of rights would not see theirs.
        tempfile.TemporaryDirectory(prefix=f"tsaudit-faults-{engine}-", ignore_cleanup_errors=True) as folder,
    ):
        yield Row(opened, Path(folder), _fork_server())


# --- The document --------------------------------------------------------------------------------------------------


def table() -> str:
    """The expectations as Markdown."""
    notes: list[str] = []

    def cell(engine: str, fault: Fault) -> str:
        reason = why_none(_NONE.get(engine, {}), fault)
        if fault.moment is Moment.ANSWER:
            reason = NO_SUCH_ANSWER.get((fault.name, engine), "")
        if reason:
            if reason not in notes:
                notes.append(reason)
            return f"- ({notes.index(reason) + 1})"
        expected = _expected_of(engine, fault).expected
        return " or ".join(outcome for outcome in Outcome if outcome in expected)

    parts = []
    for moment, (title, about) in MOMENTS.items():
        of_all = moment is Moment.ANSWER
        engines = [name for name in ENGINES if of_all or SETTINGS[name].is_a_file == (moment is None)]
        faults = [fault for fault in (*NETWORK, *ANSWERS, *FILES) if fault.moment is moment]
        lines = [f"## {title}", "", about, ""]
        lines += [f"| fault | {' | '.join(engines)} |", f"|---|{'---|' * len(engines)}"]
        for fault in faults:
            lines.append(f"| {fault.title} | {' | '.join(cell(engine, fault) for engine in engines)} |")
        lines += [""] + [f"- {f.title}: {f.why}." for f in faults if f.why]
        parts.append("\n".join(lines).rstrip())
    listed = "\n".join(f"{number}. {note}" for number, note in enumerate(notes, 1))
    return "\n\n".join([*parts, f"## Why some faults do not apply\n\n{listed}"]) + "\n"


# --- The command ---------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the engines' rows and print each cell; the number of those that are not as expected, at most 100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--only", default="", help="part of a cell's name, such as list-401 or measure")
    asked = parser.parse_args(arguments)
    wrong = 0
    for engine in asked.engines:
        began = time.monotonic()
        with running(engine) as row:
            found = row.run([fault for fault in faults_of(engine) if asked.only in name_of(fault)])
            wrong += sum([_printed(engine, row, fault, observed) for fault, observed in found.items()])
        cpu_s = sum(observed.cpu_s for observed in found.values() if not isinstance(observed, str))
        print(f"{engine}: {len(found)} cells in {time.monotonic() - began:.0f} s; the audits took {cpu_s:.0f} s of CPU")
    print(f"{wrong} cells are not as expected")
    return min(wrong, 100)


def _printed(engine: str, row: Row, fault: Fault, observed: Observed | str) -> bool:
    """Print one cell; whether it is wrong."""
    place = f"{engine:11}{name_of(fault):22}"
    if isinstance(observed, str):
        print(f"     {place}does not apply: {observed}")
        return False
    problems = complaints(fault, observed)
    memory, word = (observed.peak_bytes - row.healthy.peak_bytes) / 1e6, "BAD " if problems else "ok  "
    print(
        f"{word} {place}{observed.outcome or '?':15}{observed.seconds:5.1f} s {memory:+5.0f} MB  {observed.cause[:240]}"
    )
    for problem in problems:
        print(f"       {problem}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
