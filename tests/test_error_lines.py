"""What an error says: the part that failed, the file or address, and what to do, in one line each.

Each fault is met by the command itself, in a folder with one healthy target, history, and configuration.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.alerts.builders import fast_messages
from tests.alerts.slack_double import TOKEN
from tests.builders import DAY
from tests.command import CliRunner
from tests.databases import Dataset, Row, Table, times, write
from tests.faults import proxy
from tests.faults.engine import dead_port
from tests.faults.proxy import FaultyProxy
from tests.hostile import FAULTS, answer, hostile
from tests.hostile import Fault as HttpFault
from tests.plugins.conftest import Install, forget, install
from tsaudit.cli import main
from tsaudit.cli.errors import Exit
from tsaudit.engines import queries
from tsaudit.history import database
from tsaudit.history.schema import snapshot
from tsaudit.history.store import Store

__all__ = ["fast_messages", "install"]


@dataclass
class World:
    """A folder with a healthy configuration, which a fault changes."""

    folder: Path
    request: pytest.FixtureRequest
    closing: ExitStack
    config: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ("audit", "--day", str(DAY))

    @property
    def history(self) -> Path:
        return self.folder / "history.db"

    def target(self, engine: str, url: str, **more: Any) -> str:
        """Audit this instead; returns what an error has to name."""
        self.config["targets"] = [{"name": "shop", "engine": engine, "url": url, **more}]
        return re.sub(r"^\w+(\+\w+)?://([^/?]*).*", r"\2", url)

    def audit(self) -> None:
        """A first audit, while all is well."""
        assert self.run().exit_code in (Exit.OK, Exit.FINDINGS)

    def run(self) -> Any:
        (self.folder / "tsaudit.yaml").write_text(json.dumps(self.config))
        return CliRunner().invoke(main, list(self.arguments), prog_name="tsaudit")

    def says(self, fault: str | HttpFault) -> str:
        """The address of a peer that answers everything so."""
        return f"http://127.0.0.1:{self.closing.enter_context(hostile(fault)).port}"

    def proxy(self, strike: proxy.Strike) -> int:
        return self.closing.enter_context(
            closing(FaultyProxy(("127.0.0.1", dead_port()), strike, answers_alone=True))
        ).port


@pytest.fixture
def world(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, fast_messages: None
) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "_BUSY_S", 0.2)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(30)]
    write(Dataset([Table("t", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "shop.db")
    with ExitStack() as stack:
        made = World(tmp_path, request, stack)
        made.target("sqlite", "sqlite:///shop.db")
        made.config |= {"history": "sqlite:///history.db", "report": {"folder": "reports"}}
        yield made


Fault = Callable[[World], str]
"""Breaks something, and returns what the line has to name: a file, an address, or a setting."""


# --- The configuration ----------------------------------------------------------------------------------------------


def _config(text: bytes) -> Fault:
    def fault(world: World) -> str:
        (world.folder / "bad.yaml").write_bytes(text)
        world.arguments = ("audit", "-c", "bad.yaml")
        return "bad.yaml"

    return fault


def _no_config(world: World) -> str:
    world.arguments = ("audit", "-c", "nowhere.yaml")
    return "nowhere.yaml"


def _config_is_a_folder(world: World) -> str:
    (world.folder / "bad.yaml").mkdir()
    world.arguments = ("audit", "-c", "bad.yaml")
    return "bad.yaml"


# --- The history ----------------------------------------------------------------------------------------------------


def _history(text: str) -> Fault:
    def fault(world: World) -> str:
        world.history.write_text(text)
        return "history.db"

    return fault


def _history_in_a_file(world: World) -> str:
    world.config["history"] = "sqlite:///shop.db/history.db"
    return "shop.db/history.db"


def _history_is_a_folder(world: World) -> str:
    world.history.mkdir()
    return "history.db"


def _history_is_damaged(world: World) -> str:
    world.audit()
    with closing(sqlite3.connect(world.history)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(world.history.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    world.history.write_bytes(content)
    return "history.db"


def _history_is_locked(world: World) -> str:
    world.audit()
    other = world.closing.enter_context(closing(sqlite3.connect(world.history, isolation_level=None)))
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM snapshot")
    return "history.db"


def _history_is_of_somebody_else(world: World) -> str:
    shutil.copy(world.folder / "shop.db", world.history)
    return "history.db"


def _history_on_no_server(world: World) -> str:
    world.config["history"] = f"postgresql://u:pw@127.0.0.1:{dead_port()}/h"
    return world.config["history"].partition("@")[2]


def _history_on_no_host(world: World) -> str:
    world.config["history"] = "postgresql://u:pw@no-such-host.invalid/h"
    return "no-such-host.invalid"


def _history_in_no_database(world: World) -> str:
    world.config["history"] = "mysql://u:pw@db/h"
    return "mysql"


def _day_that_cannot_be_read(world: World) -> str:
    world.audit()
    with Store.open(f"sqlite:///{world.history}") as store, store.writing("x") as connection:
        connection.execute(snapshot.update().values(profile=b"damaged"))
    world.arguments = ("backtest", "CAR004", "shop")
    return str(DAY)


# --- Targets --------------------------------------------------------------------------------------------------------


def _file(engine: str, content: bytes | None) -> Fault:
    def fault(world: World) -> str:
        if content is not None:
            (world.folder / "other.db").write_bytes(content)
        world.target(engine, f"{engine}:///other.db")
        return "other.db"

    return fault


def _file_of_the_other_engine(world: World) -> str:
    world.target("duckdb", "duckdb:///shop.db")
    return "shop.db"


_LOGIN: Final = {"influxdb2": {"password": "t0ken-of-a-test"}, "influxdb3": {"password": "t0ken-of-a-test"}}
_FORMS: Final = {
    "postgresql": "postgresql://u:pw@{}/d",
    "greptimedb": "mysql+pymysql://u:pw@{}/public",
    "mongodb": "mongodb://u:pw@{}/",
    "timestream": "timestream://eu-central-1?endpoint=http://{}",
}


def _at(engine: str, place: Callable[[World], str]) -> Fault:
    """The engine at the host and port."""

    def fault(world: World) -> str:
        found = place(world).removeprefix("http://")
        if engine == "timestream":
            world.request.getfixturevalue("monkeypatch").setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
            world.request.getfixturevalue("monkeypatch").setenv("AWS_SECRET_ACCESS_KEY", "secret")
        # The driver looks for a server until its time is up.
        limits = {"statement_timeout_s": 1} if engine == "mongodb" else {}
        world.target(engine, _FORMS.get(engine, "http://{}").format(found), budget=limits, **_LOGIN.get(engine, {}))
        return found

    return fault


def _nowhere(world: World) -> str:
    return f"127.0.0.1:{dead_port()}"


def _no_host(world: World) -> str:
    return "no-such-host.invalid:8086"


def _redirecting(place: str) -> Callable[[World], str]:
    def found(world: World) -> str:
        return world.says(answer("302 Found", Location=place))

    return found


def _saying(fault: str) -> Callable[[World], str]:
    return lambda world: world.says(fault)


def _plain(world: World) -> str:
    found = world.says("404").removeprefix("http://")
    world.target("influxdb1", f"https://{found}")
    return found


def _tls(world: World) -> str:
    """A port that expects TLS."""
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        "k",
        "-out",
        "c",
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=world.folder, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.folder / "c", world.folder / "k")
    listener = world.closing.enter_context(socket.create_server(("127.0.0.1", 0)))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
                with context.wrap_socket(client, server_side=True):
                    pass
            except ssl.SSLError:
                continue
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def _not_trusted(world: World) -> str:
    found = _tls(world)
    world.target("influxdb1", f"https://{found}")
    return found


def _resetting(world: World) -> str:
    return f"127.0.0.1:{world.proxy(proxy.reset)}"


def _no_credentials(world: World) -> str:
    world.target("timestream", "timestream://eu-central-1")
    return "eu-central-1"


def _query_file_that_is_gone(world: World) -> str:
    monkeypatch: pytest.MonkeyPatch = world.request.getfixturevalue("monkeypatch")
    folder = world.folder / "sql" / "sqlite"
    shutil.copytree(queries.root() / "sqlite", folder)
    (folder / "measurements.sql").write_bytes(b"-- fact: \xff\n")
    monkeypatch.setattr(queries, "root", lambda: folder.parent)
    forget()
    world.closing.callback(forget)
    return "measurements.sql"


# --- Reports, messages, other files, and other packages --------------------------------------------------------------


def _report_in_a_file(world: World) -> str:
    world.config["report"] = {"folder": "shop.db/reports"}
    return "shop.db/reports"


def _report_without_a_bucket(world: World) -> str:
    world.config["report"] = {"folder": "s3://"}
    return "s3:"


def _slack(base_url: Callable[[World], str], names: str = "") -> Fault:
    def fault(world: World) -> str:
        world.config["incidents"] = {"open_after": 1}
        world.target("sqlite", "sqlite:///nowhere.db")  # Something to report.
        found = base_url(world).removeprefix("http://")
        world.config["slack"] = {"token": TOKEN, "base_url": f"http://{found}/api/"}
        world.config["owners"] = {"default": {"channel": "#default"}}
        return names or found

    return fault


def _profile(text: str) -> Fault:
    def fault(world: World) -> str:
        (world.folder / "profile.json").write_text(text)
        world.arguments = ("audit", "--profile", "profile.json")
        return "profile.json"

    return fault


def _plug_in(group: str, module: str, **config: Any) -> Fault:
    def fault(world: World) -> str:
        made: Install = world.request.getfixturevalue("install")
        made("acme", {f"tsaudit.{group}": {"pager": "acme_module:THING"}}, acme_module=module)
        world.config |= config
        if group == "notifiers":
            world.target("sqlite", "sqlite:///nowhere.db")  # Something to report.
        return "acme 1.0"

    return fault


@dataclass(frozen=True)
class Expected:
    """What one line of the output has to say."""

    fault: Fault
    part: str
    """What failed, as a regular expression."""
    advice: str
    code: int = Exit.NOT_AUDITED


FAULTY: Final[dict[str, Expected]] = {
    # The configuration
    "no configuration": Expected(_no_config, "nowhere.yaml", "`tsaudit init` writes one", Exit.USAGE),
    "a folder as the configuration": Expected(_config_is_a_folder, "cannot be read", "a directory", Exit.USAGE),
    "configuration in another encoding": Expected(_config(b"history: \xff\n"), "bad.yaml:1", "save .* as UTF-8", 2),
    "configuration that is no YAML": Expected(_config(b"targets: [\n"), "bad.yaml:", "expected|closed", 2),
    "a word that no setting has": Expected(_config(b"targits: []\n"), "bad.yaml:1: targits", "targets", 2),
    "a variable that is not set": Expected(
        _config(b"history: ${NO_SUCH_NAME_AT_ALL}\n"), "bad.yaml:1: history", "NO_SUCH_NAME_AT_ALL", 2
    ),
    # The history
    "history that is text": Expected(_history("x" * 5000), "history", "check `history` in tsaudit.yaml"),
    "history below a file": Expected(_history_in_a_file, "history .* folder", "cannot create", Exit.USAGE),
    "history that is a folder": Expected(_history_is_a_folder, "history", "let tsaudit's user write to it"),
    "history that is damaged": Expected(_history_is_damaged, "history", "restore it from a backup"),
    "history that is locked": Expected(_history_is_locked, "history .* locked", "end it, or wait"),
    "history in a database of others": Expected(
        _history_is_of_somebody_else, "history", "give the history its own database", Exit.USAGE
    ),
    "history on no server": Expected(_history_on_no_server, "history", "check `history` in tsaudit.yaml"),
    "history on no host": Expected(_history_on_no_host, "history", "check `history` in tsaudit.yaml"),
    "history in a database that cannot hold it": Expected(_history_in_no_database, "history", "expected sqlite", 2),
    "a day that cannot be read": Expected(_day_that_cannot_be_read, "no profile", "none that this version can read"),
    # Targets
    "no such file": Expected(_file("sqlite", None), "shop", "there is no file"),
    "a file of random bytes": Expected(_file("sqlite", bytes(range(256)) * 40), "shop", "not a sqlite database; check"),
    "an empty file": Expected(_file("duckdb", b""), "shop", "is empty|check the path"),
    "a file of the other engine": Expected(_file_of_the_other_engine, "shop", "set `engine: sqlite`"),
    "a query file that cannot be read": Expected(_query_file_that_is_gone, "query file", "install tsaudit again"),
    "InfluxDB, nothing listens": Expected(_at("influxdb1", _nowhere), "shop", "nothing listens on that port"),
    "InfluxDB, no such host": Expected(_at("influxdb1", _no_host), "shop", "not known to DNS"),
    "InfluxDB, redirect to the metadata of a cloud": Expected(
        _at("influxdb1", _redirecting("http://169.254.169.254/latest/meta-data/")), "shop", "check `url`, and any proxy"
    ),
    "InfluxDB, redirect to another port": Expected(
        _at("influxdb1", _redirecting("https://127.0.0.1:8443/")), "shop", "set that as `url`"
    ),
    "InfluxDB, TLS to a plain port": Expected(_plain, "shop", "write http:// in `url`"),
    "InfluxDB, plain to a TLS port": Expected(
        _at("influxdb1", _tls), "shop", "write https:// in `url`|connection lost"
    ),
    "InfluxDB, certificate not trusted": Expected(_not_trusted, "shop", "certificate is not trusted"),
    "InfluxDB, another protocol": Expected(
        _at("influxdb1", _saying("another protocol")), "shop", "does not speak HTTP"
    ),
    "InfluxDB, a page to sign in": Expected(_at("influxdb1", _saying("web page")), "shop", "proxy or a login page"),
    "InfluxDB, wrong password": Expected(_at("influxdb1", _saying("401")), "shop", "rejects the user name"),
    "InfluxDB, connection reset": Expected(_at("influxdb1", _resetting), "shop", "connection lost"),
    "InfluxDB 2, another protocol": Expected(_at("influxdb2", _saying("garbage")), "shop", "does not speak HTTP"),
    "InfluxDB 3, connection reset": Expected(_at("influxdb3", _resetting), "shop", "connection lost"),
    "PostgreSQL, nothing listens": Expected(_at("postgresql", _nowhere), "shop", "refused"),
    "PostgreSQL, HTTP on the port": Expected(_at("postgresql", _saying("404")), "shop", "an HTTP server responds"),
    "PostgreSQL, connection reset": Expected(_at("postgresql", _resetting), "shop", "reset|closed|connect"),
    "GreptimeDB, HTTP on the port": Expected(_at("greptimedb", _saying("404")), "shop", "separate port, 4002"),
    "GreptimeDB, connection reset": Expected(_at("greptimedb", _resetting), "shop", "is the address correct"),
    "MongoDB, nothing listens": Expected(_at("mongodb", _nowhere), "shop", "is the address correct"),
    "MongoDB, HTTP on the port": Expected(_at("mongodb", _saying("404")), "shop", "an HTTP server responds"),
    "MongoDB, connection reset": Expected(_at("mongodb", _resetting), "shop", "broke|does not respond"),
    "Timestream, no credentials": Expected(_no_credentials, "shop", "credentials"),
    "Timestream, nothing listens": Expected(_at("timestream", _nowhere), "shop", "refused|does not respond"),
    # Reports, messages, other files, and other packages
    "reports below a file": Expected(_report_in_a_file, "cannot write", "check `report.folder`"),
    "reports in no bucket": Expected(_report_without_a_bucket, "cannot", "check `report.folder`"),
    "Slack, nothing listens": Expected(_slack(_nowhere), "alert not delivered", "`slack.base_url`", Exit.NOT_DELIVERED),
    "Slack, a page to sign in": Expected(
        _slack(_saying("web page"), "`slack.base_url`"), "alert not delivered", "`slack.base_url`", Exit.NOT_DELIVERED
    ),
    "a profile that is no JSON": Expected(_profile("{"), "profile.json is not a profile", "JSON", Exit.USAGE),
    "rules of a package that cannot be loaded": Expected(
        _plug_in("rules", "raise KeyError('a bug')"), "rule plug-in `pager`", "fix or uninstall it", Exit.OK
    ),
    "a notifier that cannot be set up": Expected(
        _plug_in("notifiers", "def THING(about):\n    return None\n", notifiers={"pager": {"key": "x"}}),
        "notifier `pager`",
        "check `notifiers.pager`",
        Exit.NOT_DELIVERED,
    ),
}


def _tier(name: str) -> list[pytest.MarkDecorator]:
    """Drivers wait ten seconds for a handshake, and MongoDB's for any server."""
    if name.startswith("MongoDB"):
        return [pytest.mark.wall_clock]
    return [pytest.mark.full] if name.endswith("HTTP on the port") else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=_tier(name)) for name in FAULTY])
def test_error_names_the_part_the_place_and_what_to_do(world: World, name: str) -> None:
    expected = FAULTY[name]
    place = expected.fault(world)
    done = world.run()
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert "internal error" not in said
    for secret in ("pw@", "t0ken-of-a-test", TOKEN):
        assert secret not in said
    lines = [line for line in said.splitlines() if place in line and re.search(expected.part, line)]
    assert any(re.search(expected.advice, line) for line in lines), said
    assert done.exit_code == expected.code, said


def test_redirect_to_another_host_is_no_advice(world: World) -> None:
    _at("influxdb1", _redirecting("http://169.254.169.254/"))(world)
    assert "set that" not in world.run().output


def test_internal_error_names_the_part_of_tsaudit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody foresaw it, so nobody can say what to do: but where it came up, and where to report it."""
    from tsaudit.collect import catalog

    monkeypatch.setattr(catalog, "_databases", None, raising=False)
    monkeypatch.setattr(catalog, "find", partial(int, "x"))
    done = world.run()
    assert done.exit_code == Exit.NOT_AUDITED
    assert "internal error in tsaudit.collect: " in done.stderr
    assert "Traceback" not in done.output


def test_every_fault_of_the_list_is_used() -> None:
    assert len(FAULTY) >= 25
    assert {"web page", "401", "404"} <= FAULTS.keys()
