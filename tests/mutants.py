"""How many small faults in the code each tier of the tests notices.

    python -m tests.mutants draw FOLDER     # copies the tree, and draws faults with a fixed seed, some in each package
    python -m tests.mutants record FOLDER   # runs all tests once: which of them execute the line of each fault?
    python -m tests.mutants run FOLDER      # makes each fault, and runs those tests, the first tier's before the others
    python -m tests.mutants show FOLDER     # what was killed by which tier, and what survived

FOLDER is outside the repository and may be used again: what was run is not run twice. A fault of a line that only a
session's fixture executes is recorded for the test that needed the fixture first.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("tsaudit", "dagster_tsaudit")
SEED: Final = 26
COUNT: Final = 80
TIMEOUT_S: Final = 1_200
"""A fault that makes its tests run longer than this is noticed."""
_COPIED: Final = (
    "tsaudit",
    "dagster_tsaudit",
    "tsaudit_airflow",
    "dagster_project",
    "tests",
    "docs",
    "sql",
    "bench",
    "deploy",
)

_HITS: Final = """
import os

_seen = set()


def hit(number):
    line = f"{number} {os.environ.get('PYTEST_CURRENT_TEST', '').rpartition(' ')[0]}\\n"
    if line not in _seen:
        _seen.add(line)
        with open(HITS, "a") as file:
            file.write(line)
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: where, and the code before and after."""

    file: str
    line: int
    start: int
    """Offset in the file's bytes."""
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


_OPPOSITE: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


def mutated(node: ast.AST) -> ast.AST | None:
    """The expression with one fault; None if none is known for its kind."""
    match node:
        case ast.Compare(left, [operator], comparators) if type(operator) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(operator)]()], comparators)  # type: ignore[list-item]
        case ast.BoolOp(operator, values):
            return ast.BoolOp(_OPPOSITE[type(operator)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left, operator, right) if type(operator) in _OPPOSITE and not _is_text(left, right):
            return ast.BinOp(left, _OPPOSITE[type(operator)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(value) if type(value) is int:
            return ast.Constant(value + 1)
        case ast.Constant(value) if type(value) is bool:
            return ast.Constant(not value)
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
    return None


def _is_text(*nodes: ast.AST) -> bool:
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str)) for n in nodes
    )


def sites(path: Path, root: Path) -> Iterator[Mutant]:
    """All faults that can be made in the functions of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in (node for statement in function.body for node in _expressions(statement)):
                new = mutated(node)
                if new is not None and isinstance(node, ast.expr) and node.end_lineno == node.lineno:
                    start, end = (
                        starts[node.lineno - 1] + node.col_offset,
                        starts[node.lineno - 1] + (node.end_col_offset or 0),
                    )
                    after = ast.unparse(ast.fix_missing_locations(new))
                    yield Mutant(
                        str(path.relative_to(root)), node.lineno, start, end, source[start:end].decode(), after
                    )


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """What lies in the node, but in no function of its own, no annotation, and no f-string, whose positions are off."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _expressions(child)


def drawn(root: Path, count: int = COUNT, seed: int = SEED) -> list[Mutant]:
    """One fault of each package, and others from everywhere."""
    chance = random.Random(seed)
    every = [
        one for package in PACKAGES for path in sorted((root / package).rglob("*.py")) for one in sites(path, root)
    ]
    every = list({(one.file, one.start): one for one in every}.values())
    chance.shuffle(every)
    first = {"/".join(Path(one.file).parts[:2]): one for one in every if len(Path(one.file).parts) > 2}
    return [*first.values(), *(one for one in every if one not in first.values())][:count]


# --- Which tests execute the lines ------------------------------------------------------------------------------------


class _Marking(ast.NodeTransformer):
    """Puts a call before each statement that holds a fault."""

    def __init__(self, lines: dict[int, list[int]]) -> None:
        self._lines = lines

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                setattr(node, field, [new for statement in statements for new in self._marked(statement)])
        return node

    def _marked(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            nested = getattr(statement, "body", None)
            last = nested[0].lineno - 1 if isinstance(nested, list) and nested else statement.end_lineno or 0
            for line in range(statement.lineno, max(last, statement.lineno) + 1):
                for number in self._lines.get(line, ()):
                    call = f'__import__("tsaudit._hits", fromlist=["hit"]).hit({number})'
                    yield ast.parse(call).body[0]
        yield statement


def draw(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    mutants = drawn(ROOT)
    (folder / "mutants.json").write_text(json.dumps([asdict(one) for one in mutants], indent=1))
    for copy in ("clean", "marked"):
        _copy(folder / copy)
    (folder / "marked" / "tsaudit" / "_hits.py").write_text(f"HITS = {str(folder / 'hits')!r}\n{_HITS}")
    for one in mutants:
        (folder / "whole" / one.file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / one.file, folder / "whole" / one.file)
    by_file: dict[str, dict[int, list[int]]] = {}
    for number, one in enumerate(mutants):
        by_file.setdefault(one.file, {}).setdefault(one.line, []).append(number)
    for file, lines in by_file.items():
        path = folder / "marked" / file
        path.write_text(ast.unparse(ast.fix_missing_locations(_Marking(lines).visit(ast.parse(path.read_text())))))
    print(*(f"{number:3} {one}" for number, one in enumerate(mutants)), sep="\n")


def _copy(to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in _COPIED:
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in [*ROOT.glob("*.*"), ROOT / "Makefile", ROOT / ".gitignore"]:
        if file.is_file():
            shutil.copy(file, to / file.name)
    shutil.copytree(ROOT / ".ci", to / ".ci")


def _pytest(where: Path, *arguments: str, timeout_s: float | None = None) -> int:
    """The exit code; 1 where it took too long."""
    env = os.environ | {"PYTHONPATH": str(where)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    with (where.parent / "log").open("a") as log:
        try:
            return subprocess.run(
                command, cwd=where, env=env, stdout=log, stderr=log, timeout=timeout_s, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return 1


def record(folder: Path) -> None:
    for name in ("hits", "log"):
        (folder / name).unlink(missing_ok=True)
    _pytest(folder / "marked", "-n", "3", "--dist", "worksteal")
    # What fails in the copy without a fault, such as a test that needs the repository, would notice every one.
    failed = [line.split(" ")[1] for line in (folder / "log").read_text().splitlines() if line.startswith("FAILED ")]
    (folder / "failed").write_text("\n".join(failed))
    first = folder / "first"
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not full", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    first.write_text("\n".join(line for line in listed.stdout.splitlines() if "::" in line))


def run(folder: Path, numbers: Sequence[int]) -> None:
    mutants = _mutants(folder)
    first = set((folder / "first").read_text().splitlines())
    results = folder / "results.json"
    known: dict[str, str] = json.loads(results.read_text()) if results.exists() else {}
    for one in mutants:
        # Whoever ended the last run may have left a fault.
        shutil.copy(folder / "whole" / one.file, folder / "clean" / one.file)
    for number in numbers or range(len(mutants)):
        if str(number) not in known:
            tests = _tests_of(folder, number)
            known[str(number)] = _killed_by(folder, mutants[number], tests & first, tests - first)
            results.write_text(json.dumps(known))
            print(f"{number:3} {known[str(number)]:10} {len(tests):5} tests  {mutants[number]}", flush=True)


def _mutants(folder: Path) -> list[Mutant]:
    return [Mutant(**one) for one in json.loads((folder / "mutants.json").read_text())]


def _tests_of(folder: Path, number: int) -> set[str]:
    pairs = (line.partition(" ") for line in (folder / "hits").read_text().splitlines())
    failed = set((folder / "failed").read_text().splitlines())
    return {test for hit, _, test in pairs if hit == str(number) and test} - failed


def _killed_by(folder: Path, mutant: Mutant, first: set[str], others: set[str]) -> str:
    path, source = folder / "clean" / mutant.file, (folder / "whole" / mutant.file).read_bytes()
    for tier, left in (("first", first), ("all", others)):
        tests = left
        while tests:
            path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
            try:
                failed = _failing(folder, mutant, tests)
            finally:
                path.write_bytes(source)
            # What fails without the fault, too, has not noticed it.
            if not failed or not _failing(folder, mutant, failed):
                break
            tests = tests - failed
        else:
            continue
        if failed:
            return tier
    return "survives" if first | others else "not run"


def _failing(folder: Path, mutant: Mutant, tests: set[str]) -> set[str]:
    """The first of the tests that fail, those beside the fault before the others: they are the likeliest to notice it.
    Some of them where all fail, or take too long.
    """
    near = Path(mutant.file).parts[1:-1]
    ordered = sorted(tests, key=lambda test: (-len({*near} & {*test.split("/")}), test))
    (folder / "chosen").write_text("\n".join(ordered))
    (folder / "log").unlink(missing_ok=True)
    if _pytest(folder / "clean", "-x", "-n", "2", f"@{folder / 'chosen'}", timeout_s=TIMEOUT_S) in (0, 5):
        return set()
    lines = [line.partition(" ") for line in (folder / "log").read_text().splitlines()]
    named = {rest.partition(" - ")[0] for word, _, rest in lines if word in ("FAILED", "ERROR")} & tests
    return named or set(ordered[:_SOME])


_SOME: Final = 20


def show(folder: Path) -> None:
    known: dict[str, str] = json.loads((folder / "results.json").read_text())
    for number, one in enumerate(_mutants(folder)):
        if known.get(str(number)) != "first":
            print(f"{number:3} {known.get(str(number), '-'):10} {one}")
    counts = {outcome: list(known.values()).count(outcome) for outcome in ("first", "all", "survives", "not run")}
    killed = counts["first"] + counts["all"]
    print(f"{counts}; the first tier kills {counts['first'] / max(1, killed):.0%} of what all tests kill")


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in ("draw", "record", "run", "show"):
        raise SystemExit(__doc__)
    folder = Path(sys.argv[2]).absolute()
    match sys.argv[1]:
        case "draw":
            draw(folder)
        case "record":
            record(folder)
        case "run":
            run(folder, [int(number) for number in sys.argv[3:]])
        case "show":
            show(folder)


if __name__ == "__main__":
    main()
