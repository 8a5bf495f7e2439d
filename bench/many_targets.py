"""What an audit costs when there are many targets: its share of the index, and the whole of `tsaudit audit`.

The index has 10,000 entries, and each step of 100 audits writes it once. Then SQLite databases with one table are
audited for the first time by the command: 100 and 1,000 of them, less what it takes for a single one. At last, 100 are
audited again, beside 9,900 others in configuration, history, and index. Exits with 1 if a goal is missed. Seconds are
those of the processor.

    python -m bench.many_targets
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

from bench.simulated import copies
from tests.databases import Dataset, Row, Table, times, write
from tsaudit.history.store import Store
from tsaudit.model.finding import Verdict
from tsaudit.model.jsonfile import to_json
from tsaudit.report import index
from tsaudit.report.storage import Folder

ENTRIES, STEP, MOST_MS = 10_000, 100, 5.0
FEW, MANY, MOST_RATIO = 100, 1_000, 1.2
DAY = date(2026, 3, 31)


def an_entry(number: int) -> index.IndexEntry:
    """As long as most: a trend of 30 days, a headline with a name in it."""
    return index.IndexEntry(
        target=name(number),
        engine="influxdb2",
        day=DAY,
        audited_at=datetime(2026, 3, 31, 6, tzinfo=UTC),
        verdict=Verdict.OK if number % 10 else Verdict.WARNING,
        headline="Series grew from 768 to 36,096, main contributor request_id (98%), since 2026-03-11",
        counts={"critical": 0, "warning": int(number % 10 == 0), "note": 2},
        series=36_096,
        trend=tuple(768.0 + n * (number % 7) for n in range(index.SPARK_POINTS)),
        href=f"{name(number)}/latest.html",
        owners=(f"team-{number % 50}",),
    )


def index_ms(folder: Path) -> float:
    """Milliseconds of an audit's share: writing its entry, and a hundredth of the page."""
    reports = Folder(str(folder / "reports"))
    place = folder / "reports" / index.ENTRIES
    place.mkdir(parents=True)
    for number in range(ENTRIES):
        (place / f"{name(number)}.json").write_bytes(to_json(an_entry(number)))
    spent = []
    with Store.open(f"sqlite:///{folder}/history.db") as store:
        index.write_page(reports, store)
        for step in range(3):
            began = time.process_time()
            for number in range(STEP):
                index.write_entry(reports, an_entry(step * STEP + number))
            index.write_page(reports, store)
            spent.append((time.process_time() - began) / STEP * 1000)
    return min(spent)


def project(folder: Path, count: int) -> None:
    """A configuration of `count` targets, and the databases of as many, but at most 1,000."""
    folder.mkdir(exist_ok=True)
    rows = [Row(at, {"host": f"web-{n % 10}"}, {"v": float(n)}) for n, at in enumerate(times(200))]
    if not (folder / "first.db").exists():
        write(Dataset([Table("requests", ("host",), {"v": "float"}, rows)]), "sqlite", folder / "first.db")
    lines = ["targets:"]
    for number in range(count):
        if number < MANY:
            shutil.copy(folder / "first.db", folder / f"{name(number)}.db")
        lines += [f"  - {{name: {name(number)}, engine: sqlite, url: 'sqlite:///{name(number)}.db'}}"]
    (folder / "tsaudit.yaml").write_text("\n".join(lines))


def name(number: int) -> str:
    """As `copies.multiply` names its copies."""
    return f"target-{number:05}"


def audit_s(folder: Path, count: int) -> float:
    """Seconds of `tsaudit audit` for the first `count` targets."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tsaudit", "audit", "--quiet", "--fail-on", "never", *map(name, range(count))]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    spent = used.ru_utime + used.ru_stime
    size = sum(file.stat().st_size for file in (folder / ".tsaudit").rglob("*") if file.is_file())
    print(
        f"{count:6,} targets: {time.monotonic() - began:6.1f} s on the clock, {spent:6.1f} s of the processor, "
        f"{used.ru_maxrss / 1024:,.0f} MB of memory, {size / 1e6:,.0f} MB of history and reports",
        flush=True,
    )
    return spent


def first_audit_s(folder: Path, count: int) -> float:
    """Seconds of the first audit of `count` targets."""
    project(folder, count)
    return audit_s(folder, count)


def among_s(folder: Path, known: int) -> float:
    """Seconds per target to audit 100 targets again of which `known` are in configuration, history, and index."""
    project(folder, known)
    reports = Folder(str(folder / ".tsaudit" / "reports"))
    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store:
        copies.multiply(store, [name(number) for number in range(FEW)], known)
        for number in range(FEW, known):
            index.write_entry(reports, an_entry(number))
        index.write_page(reports, store)
    return (audit_s(folder, FEW) - audit_s(folder, 1)) / (FEW - 1)


def main() -> int:
    """Print each figure and its goal."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        share = index_ms(folder)
        print(f"index of {ENTRIES:,} targets: {share:.1f} ms per audit (limit {MOST_MS:g} ms)", flush=True)
        one = first_audit_s(folder / "one", 1)
        few = (first_audit_s(folder / "few", FEW) - one) / (FEW - 1)
        many = (first_audit_s(folder / "many", MANY) - one) / (MANY - 1)
        print(f"per target, {MANY:,} / {FEW}: {many / few:.2f} (limit {MOST_RATIO})", flush=True)
        again, among = among_s(folder / "few", FEW), among_s(folder / "few", ENTRIES)
        print(f"per target, {FEW} of {ENTRIES:,} known / of {FEW}: {among / again:.2f} (limit {MOST_RATIO})")
    return 0 if share < MOST_MS and max(many / few, among / again) < MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
