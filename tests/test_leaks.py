"""Plants secrets of awkward shapes wherever the configuration takes one, provokes errors, and searches what is left.

Every run of the command audits one target for each secret, at places that go round: each secret meets each error, and
each place some of them. With TSAUDIT_LEAKS=all each secret meets each error at each place. The server is hostile: it
repeats all that it was sent, and the credentials decoded; on a page every character as a number. Nothing that a
person or a later run may read may show a secret, nor a part of 4 characters of one.
"""

from __future__ import annotations

import base64
import html
import io
import json
import logging
import os
import re
import socket
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import pytest

from tests.command import CliRunner
from tests.servers import Postgresql
from tests.serving import Handler, serving_http
from tests.test_secrets import pieces
from tsaudit.cli import main
from tsaudit.history import incidents
from tsaudit.history.store import Store

SECRETS: Final = (
    *("aa@TQIL/zz9", "p:wqxj?vbkz#s&w=9Q", "100%Sxre%zz77", "wqth blqnk 99x", "tqb\thqre88", "qxo'te\"d77xw"),
    *(
        "bqck\\slqsh66",
        "ünïcödé-55",
        "密码秘密钥匙九四",
        "emqji🔑kqy12",
        "[brqckets]33",
        "plqs+sqgn+22",
        "sqmi;cqlon,11",
    ),
    *("z" * 300 + "Z9", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.sIgNaTuRe", "xoxb-123-456-AbCdEf", "deadBEEF0123"),
    *("Tr0ub4dor&3xq", "%70%71%73%73%2Fw0rdq", "lqne\nend77qq"),
)
assert len(SECRETS) == 20
ALL: Final = range(len(SECRETS))
EVERYTHING: Final = os.environ.get("TSAUDIT_LEAKS") == "all"


def rotated(some: Iterable[int], every: int) -> Iterable[int]:
    """What CI tries of so many: `some`; all of them where the whole cross product was asked for."""
    return range(every) if EVERYTHING else some


def needles(secret: str) -> set[str]:
    """What must not be found, in lower case."""
    decoded = unquote(secret)
    found = pieces(secret) | pieces(decoded, 6) | {quote(secret, safe=""), repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    found |= {html.escape(secret), base64.b64encode(f"u:{secret}".encode()).decode()}
    return {one.lower() for one in found if len(one) >= 4}


def stands(one: str, text: str) -> bool:
    """Whether it is there; what is short only as a word: compressed bytes hold every four letters."""
    return len(one) >= 8 or re.search(rf"(?<![a-z0-9]){re.escape(one)}(?![a-z0-9])", text) is not None


# -- servers -----------------------------------------------------------------------------------------------------------


def heard(handler: BaseHTTPRequestHandler) -> str:
    """All that the client sent, and its credentials decoded."""
    body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
    kind, _, sent = handler.headers.get("Authorization", "").partition(" ")
    login = base64.b64decode(sent + "==").decode("utf-8", "replace") if kind == "Basic" else sent
    return f"{login} is no login; you sent {login!r} by {handler.requestline} {handler.headers} {body}"


def answering(status: int, kind: str = "text/plain", *, version: str = "", cut: bool = False) -> Callable[[Any], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        said = heard(handler)
        if version and handler.path.startswith(("/ping", "/health")):
            status_now, said_now = 204, ""
        else:
            status_now, said_now = status, said
        if kind == "application/json":
            said_now = json.dumps({"error": said, "message": said, "code": "unauthorized"}) if said_now else ""
        if kind == "text/html":
            said_now = "".join(f"&#{ord(c)};" for c in said_now)
        body = said_now.encode()
        handler.send_response(status_now)
        if version:
            handler.send_header("X-Influxdb-Version", version)
        handler.send_header("Content-Type", kind)
        if status_now in (301, 302, 307):
            handler.send_header("Location", "http://" + quote(said[:200]) + "@127.0.0.1:1/")
        if status_now != 204:
            handler.send_header("Content-Length", str(len(body) + (100 if cut else 0)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def repeating_version(handler: BaseHTTPRequestHandler) -> None:
    said = heard(handler)
    handler.send_response(204)
    handler.send_header("X-Influxdb-Version", "1.8.10 " + quote(said[:300], safe=" :"))
    handler.end_headers()


def banner(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(f"220 {' '.join(heard(handler).split())}\r\n".encode())
    handler.close_connection = True


HTTP_FAULTS: dict[str, Callable[[Any], None]] = {
    "401": answering(401),
    "403 json": answering(403, "application/json"),
    "500 json": answering(500, "application/json"),
    "html 200": answering(200, "text/html"),
    "redirect": answering(302),
    "cut": answering(500, cut=True),
    "banner": banner,
    "version": repeating_version,
    "401 later": answering(401, "application/json", version="{}"),
    "500 later": answering(500, "application/json", version="{}"),
    "html later": answering(200, "text/html", version="{}"),
    "cut later": answering(200, "application/json", version="{}", cut=True),
}
SLACK_FAULTS: Final = ["401", "html 200", "redirect", "500 json", "banner", "cut"]
VERSIONS: Final = {"influxdb1": "1.8.10", "influxdb2": "v2.7.1", "influxdb3": "3.0.0"}


@contextmanager
def http_server(fault: str, engine: str = "influxdb1") -> Iterator[int]:
    answer = HTTP_FAULTS[fault]
    if "later" in fault:
        kind = "text/html" if "html" in fault else "application/json"
        status = int(fault[:3]) if fault[:3].isdigit() else 200
        answer = answering(status, kind, version=VERSIONS[engine], cut="cut" in fault)

    class Faulty(Handler):
        def do_GET(self) -> None:
            answer(self)

        def do_POST(self) -> None:
            self.do_GET()

    with serving_http(Faulty) as server:
        yield server.server_port


@contextmanager
def tcp_server(fault: str) -> Iterator[int]:
    """`closed` hangs up at once, `banner` speaks another protocol, `refused` does not listen."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        if fault == "refused":
            listening.close()
            yield port
            return
        listening.settimeout(0.05)
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    peer, _ = listening.accept()
                except OSError:
                    continue
                with closing(peer):
                    if fault == "banner":
                        peer.settimeout(0.2)
                        try:
                            sent = peer.recv(4096)
                            peer.sendall(b"HTTP/1.1 400 bad request: " + sent + b"\r\n\r\n")
                        except OSError:
                            pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield port
        finally:
            ended.set()
            thread.join()


# -- runs --------------------------------------------------------------------------------------------------------------


class Leaks:
    """Runs the command in a folder, and searches everything that it left."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.runs = 0
        """Secrets times places times errors."""
        self.environment = monkeypatch
        self._read: set[str] = set()
        """All texts so far: what a run left as it was, only the runs before it can have written."""
        self._unsearched: list[str] = []
        for number, secret in enumerate(SECRETS):
            monkeypatch.setenv(f"RAW_{number}", secret)
            monkeypatch.setenv(f"S_{number}", quote(secret, safe=""))

    def audit(self, config: dict[str, Any], command: str = "audit") -> str:
        """What one run over all targets said; that and the files it left await the search."""
        (self.folder / "tsaudit.yaml").write_text(json.dumps(config))
        log = io.StringIO()
        handler = logging.StreamHandler(log)
        handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
        root, level = logging.getLogger(), logging.getLogger().level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            done = CliRunner().invoke(main, ["--debug", command], prog_name="tsaudit")
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
        assert done.exit_code != 70, done.output
        said = "\n".join([done.stdout, done.stderr, log.getvalue()])
        self.read([said, *left_in(self.folder)])
        return said

    def read(self, texts: Iterable[str]) -> None:
        """Keep for the search what no run before has left, and what a browser makes of it."""
        for text in texts:
            if text not in self._read:
                self._read.add(text)
                self._unsearched += dict.fromkeys((text, html.unescape(text)))

    def search(self, numbers: Iterable[int], about: str) -> None:
        """Fail for every secret that shows in what was read since the last search."""
        wanted = list(numbers)
        # Characters of one byte are searched several times as fast as a text with one wide character among them.
        for narrow in (True, False):
            text = "\n".join(one for one in self._unsearched if one.isascii() is narrow)
            lower = text.lower()
            shown = {n: found for n in wanted if (found := where(SECRETS[n], text, lower))}
            if shown:
                number, found = next(iter(shown.items()))
                raise AssertionError(f"{about}: secret {number} shows {found}, and {len(shown) - 1} others do")
        self._unsearched.clear()
        self.runs += len(wanted)


def where(secret: str, text: str, lower: str) -> str:
    """What of the secret shows in the text, which is `lower` in lower case, and around it; empty for nothing."""
    for one in sorted(needles(secret)):
        if one in lower and stands(one, lower):
            at = lower.index(one)
            return f"{one!r} in ...{text[max(0, at - 150) : at + len(one) + 50]!r}..."
    return ""


def left_in(folder: Path) -> Iterator[str]:
    """All that is in the files of a folder, but for the configuration."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name != "tsaudit.yaml":
            yield str(file.relative_to(folder))
            yield file.read_bytes().decode("latin-1")
            yield file.read_bytes().decode("utf-8", "replace")
    if (history := folder / ".tsaudit/history.db").exists():
        yield from unpacked(history)


def unpacked(history: Path) -> Iterator[str]:
    """Every value of every table, compressed ones as what they hold."""
    with closing(sqlite3.connect(history)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    if isinstance(value, bytes):
                        for unpack in (zlib.decompress, lambda data: zlib.decompress(data, 31), bytes):
                            try:
                                yield unpack(value).decode("utf-8", "replace")
                            except zlib.error:
                                continue
                    else:
                        yield str(value)
    with Store.open(f"sqlite:///{history}") as store:
        for target in store.targets():
            for day in store.days(target):
                yield f"{store.result(target, day)} {store.profile(target, day)}"
                yield str(incidents.current(store, target, day))


@pytest.fixture
def leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Leaks:
    monkeypatch.chdir(tmp_path)
    for name in ("TSAUDIT_CONFIG", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    return Leaks(tmp_path, monkeypatch)


TOTAL: dict[str, int] = {}
BUDGET: Final = {"statement_timeout_s": 2, "deadline_s": 6}

Place = tuple[str, dict[str, str]]
"""An engine, and the keys of a target: RAW and S stand for the secret as it is and percent-encoded, PORT for a port."""


def audit_all(
    leaks: Leaks, places: list[Place], ports: dict[str, int], shift: int, numbers: Iterable[int] = ALL
) -> None:
    """One run with a target for each secret, at places that go round, and the search."""
    targets = []
    for n in numbers:
        engine, keys = places[(n + shift) % len(places)]
        given = {
            key: text.replace("PORT", str(ports.get(engine, 1)))
            .replace("RAW", f"${{RAW_{n}}}")
            .replace("SEC", f"${{S_{n}}}")
            for key, text in keys.items()
        }
        targets.append({"name": f"t{n}", "engine": engine, "budget": BUDGET, **given})
    leaks.audit({"targets": targets})
    leaks.search(numbers, f"shift {shift} of {[keys for _, keys in places]}")


HTTP_PLACES: Final[list[Place]] = [
    ("influxdb1", {"url": "http://127.0.0.1:PORT", "username": "u", "password": "RAW"}),
    ("influxdb1", {"url": "http://u:SEC@127.0.0.1:PORT"}),
    ("influxdb2", {"url": "http://127.0.0.1:PORT", "password": "RAW"}),
    ("influxdb1", {"url": "http://127.0.0.1:PORT", "username": "SEC", "password": "RAW"}),
    ("influxdb2", {"url": "http://:SEC@127.0.0.1:PORT"}),
]
INFLUXDB3_PLACES: Final[list[Place]] = [
    ("influxdb3", {"url": "http://127.0.0.1:PORT", "password": "RAW"}),
    ("influxdb3", {"url": "http://127.0.0.1:PORT", "password": "SEC"}),
    ("influxdb3", {"url": "http://u:SEC@127.0.0.1:PORT"}),
]
TCP_PLACES: Final[list[Place]] = [
    ("postgresql", {"url": "postgresql://u:SEC@127.0.0.1:PORT/db"}),
    ("postgresql", {"url": "postgresql://127.0.0.1:PORT/db", "username": "u", "password": "RAW"}),
    ("postgresql", {"url": "postgresql://127.0.0.1:PORT/db?sslpassword=SEC"}),
    ("greptimedb", {"url": "mysql+pymysql://u:SEC@127.0.0.1:PORT"}),
    ("greptimedb", {"url": "mysql+pymysql://127.0.0.1:PORT", "username": "u", "password": "RAW"}),
    ("greptimedb", {"url": "mysql+pymysql://127.0.0.1:PORT?no_such_option=SEC"}),
    ("mongodb", {"url": "mongodb://u:SEC@127.0.0.1:PORT"}),
    ("mongodb", {"url": "mongodb://127.0.0.1:PORT", "username": "u", "password": "RAW"}),
    ("mongodb", {"url": "mongodb://127.0.0.1:PORT/?authMechanismProperties=AWS_SESSION_TOKEN:SEC"}),
]
BAD_ARGUMENTS: Final[list[Place]] = [
    ("postgresql", {"url": "postgresql://127.0.0.1:PORT/db?connect_timeout=SEC"}),
    ("postgresql", {"url": "postgresql://127.0.0.1:PORT/db?target_session_attrs=SEC"}),
    ("postgresql", {"url": "postgresql://127.0.0.1:PORT/db?SEC=1"}),
    ("greptimedb", {"url": "mysql+pymysql://127.0.0.1:PORT?charset=SEC"}),
    ("mongodb", {"url": "mongodb://127.0.0.1:PORT/?maxPoolSize=SEC"}),
    ("mongodb", {"url": "mongodb://127.0.0.1:PORT/?readPreference=SEC&authMechanism=SEC"}),
    ("timestream", {"url": "timestream://eu-central-1?endpoint=http://SEC"}),
]
AS_IT_IS: Final[list[Place]] = [
    ("influxdb1", {"url": "http://u:RAW@influx.test:8086"}),
    ("influxdb1", {"url": "http://RAW:p@influx.test"}),
    ("influxdb2", {"url": "http://u:RAW@influx.test"}),
    ("greptimedb", {"url": "mysql+pymysql://u:RAW@greptime.test"}),
    ("mongodb", {"url": "mongodb://u:RAW@mongo.test"}),
    ("timestream", {"url": "timestream://eu-central-1?endpoint=http://u:RAW@aws.test"}),
]


@pytest.mark.full
@pytest.mark.parametrize("fault", HTTP_FAULTS)
@pytest.mark.parametrize("shift", rotated([0], len(HTTP_PLACES)))
def test_http_targets_leak_nothing(leaks: Leaks, fault: str, shift: int) -> None:
    with http_server(fault, "influxdb1") as first, http_server(fault, "influxdb2") as second:
        ports = {"influxdb1": first, "influxdb2": second}
        audit_all(leaks, HTTP_PLACES, ports, list(HTTP_FAULTS).index(fault) + shift)
    TOTAL[f"http, {fault}, {shift}"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize("fault", HTTP_FAULTS)
@pytest.mark.parametrize("shift", rotated([0], len(INFLUXDB3_PLACES)))
def test_influxdb3_targets_leak_nothing(leaks: Leaks, fault: str, shift: int) -> None:
    first = list(HTTP_FAULTS).index(fault)
    with http_server(fault, "influxdb3") as port:
        numbers = rotated(range(first % 4, len(SECRETS), 4), len(SECRETS))
        audit_all(leaks, INFLUXDB3_PLACES, {"influxdb3": port}, first + shift, numbers)
    TOTAL[f"influxdb3, {fault}, {shift}"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize("fault", ["refused", "closed", "banner"])
@pytest.mark.parametrize("shift", rotated([0, 5], len(TCP_PLACES)))
def test_other_targets_leak_nothing(leaks: Leaks, fault: str, shift: int) -> None:
    with tcp_server(fault) as port:
        audit_all(leaks, TCP_PLACES, dict.fromkeys(("postgresql", "greptimedb", "mongodb"), port), shift)
    TOTAL[f"tcp, {fault}, {shift}"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize("shift", rotated([0, 1, 2], len(BAD_ARGUMENTS)))
def test_arguments_that_drivers_refuse_leak_nothing(leaks: Leaks, shift: int) -> None:
    audit_all(leaks, BAD_ARGUMENTS, {}, shift)
    TOTAL[f"bad argument, {shift}"] = leaks.runs


@pytest.mark.full
def test_a_real_postgresql_that_refuses_the_password_leaks_nothing(leaks: Leaks, postgresql: Postgresql) -> None:
    address = re.sub(r"//[^@]*@", "//", postgresql.address("public"))
    audit_all(leaks, [("postgresql", {"url": address, "username": "tester", "password": "RAW"})], {}, 0)
    TOTAL["postgresql, wrong password"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize("shift", rotated([0, 3], len(AS_IT_IS)))
def test_addresses_as_they_are_leak_nothing(leaks: Leaks, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets nobody encoded: refused before a part of one is looked up, or taken whole."""
    asked: list[str] = []

    def resolve(host: Any, *_: Any, **__: Any) -> Any:
        asked.append(str(host))
        raise socket.gaierror(-2, f"Name or service not known: {host}")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    ambiguous = [n for n in ALL if re.search(r"[@/?#\[\]\s]", SECRETS[n])]
    audit_all(leaks, AS_IT_IS, {}, shift, ambiguous)
    assert asked == [], "nothing of a refused configuration is connected to"
    audit_all(leaks, AS_IT_IS, {}, shift, [n for n in ALL if n not in ambiguous])
    assert {host.strip("[]").rpartition(".")[2] for host in asked} <= {"test", "1", "localhost"}
    TOTAL[f"as it is, {shift}"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize("coding", ["S", "RAW"])
@pytest.mark.parametrize("fault", ["refused", "closed", "banner"] if EVERYTHING else ["refused"])
def test_the_history_and_the_report_folder_leak_nothing(leaks: Leaks, coding: str, fault: str) -> None:
    import fsspec
    from fsspec.implementations.memory import MemoryFileSystem

    class Telling(MemoryFileSystem):
        """Repeats its address when it fails, as some do."""

        protocol = "leaky"

        def pipe_file(self, path: str, value: bytes, **_: Any) -> None:
            raise OSError(f"login failed for leaky://{path} as {path!r}")

    fsspec.register_implementation("leaky", Telling, clobber=True)
    one = {"targets": [{"name": "t", "engine": "sqlite", "url": "sqlite:///gone.db"}]}
    with tcp_server(fault) as port:
        for number in ALL:
            reference = f"${{{coding}_{number}}}"
            folder = {"report": {"folder": f"leaky://u:{reference}@host/reports"}}
            history = {"history": f"postgresql://u:{reference}@127.0.0.1:{port}/h"}
            for top, command in ((history, "check"), (folder, "audit" if number in rotated(ALL[::4], 20) else "check")):
                leaks.audit(one | top, command)
        leaks.search(ALL, f"history and folder, {coding}, {fault}")
    TOTAL[f"history and folder, {coding}, {fault}"] = leaks.runs


@pytest.mark.parametrize(
    "fault", [SLACK_FAULTS[0], *(pytest.param(fault, marks=pytest.mark.full) for fault in SLACK_FAULTS[1:])]
)
def test_slack_leaks_nothing(leaks: Leaks, fault: str) -> None:
    usable = [n for n in ALL if re.fullmatch(r"[!-~]+", SECRETS[n])]
    one = {"targets": [{"name": "t", "engine": "sqlite", "url": "sqlite:///gone.db"}]}
    numbers = usable if EVERYTHING else usable[SLACK_FAULTS.index(fault) % 3 :: 3]
    with http_server(fault) as port:
        for number in numbers:
            for slack in (
                {"token": f"${{RAW_{number}}}", "base_url": f"http://127.0.0.1:{port}/api/", "deadline_s": 0.3},
                {"webhook": f"http://127.0.0.1:{port}/services/${{S_{number}}}", "deadline_s": 0.3},
            ):
                assert "not delivered:" in leaks.audit(one | {"slack": slack, "owners": {"default": {"channel": "C1"}}})
        leaks.search(numbers, f"slack, {fault}")
    TOTAL[f"slack, {fault}"] = leaks.runs


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "breaks"),
    [("401 later", True), *((fault, False) for fault in (HTTP_FAULTS if EVERYTHING else ["401 later"]))],
)
def test_dagsters_events_leak_nothing(leaks: Leaks, fault: str, breaks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the step says, and what Dagster makes of an exception and its causes."""
    import dagster as dg

    from tests.dagster_tsaudit.runs import a_plan, execute
    from tsaudit import run

    def broken(targets: Any, *_: Any, **__: Any) -> Any:
        try:
            raise OSError(f"driver refuses {[t.password.get_secret_value() for t in targets]}")
        except OSError as error:
            raise RuntimeError("it broke") from error

    if breaks:
        monkeypatch.setattr(run, "audit_targets", broken)
    numbers = rotated(ALL[::3], len(SECRETS))
    (leaks.folder / "dagster").mkdir()
    with http_server(fault) as port, dg.DagsterInstance.local_temp(str(leaks.folder / "dagster")) as instance:
        keys = {"engine": "influxdb1", "url": f"http://127.0.0.1:{port}", "username": "u", "budget": BUDGET}
        config = {"targets": [{"name": f"t{n}", "password": f"${{RAW_{n}}}", **keys} for n in numbers]}
        (leaks.folder / "tsaudit.yaml").write_text(json.dumps(config))
        outcome = execute(a_plan(leaks.folder / "tsaudit.yaml"), instance)
        assert not outcome.success
        events = "\n".join(f"{entry} {entry.user_message}" for entry in instance.all_logs(outcome.run_id))
    assert ("it broke" if breaks else "HTTP 401" if "401" in fault else "could not be audited") in events
    leaks.read([events, *left_in(leaks.folder)])
    leaks.search(numbers, "Dagster")
    TOTAL[f"Dagster, {fault}, {breaks}"] = leaks.runs


@pytest.mark.full
def test_the_search_finds_what_is_planted(leaks: Leaks) -> None:
    """The test of the test: without masking, the hostile server's words show."""
    from tsaudit import secrets

    with http_server("401 later") as port, pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "_known", {})
        patch.setattr(secrets, "remember", lambda *_: None)
        with pytest.raises(AssertionError, match="shows"):
            audit_all(leaks, HTTP_PLACES[1:2], {"influxdb1": port}, 0)


@pytest.fixture(scope="module", autouse=True)
def _count() -> Iterator[None]:
    yield
    if TOTAL:
        print(f"\nleaks: {sum(TOTAL.values()):,} secrets x places x errors of {len(TOTAL)} kinds")
