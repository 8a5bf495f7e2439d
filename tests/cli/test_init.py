"""`tsaudit init` and what it finds."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from click.testing import Result
from pydantic import SecretStr

from tests.builders import a_profile
from tests.command import CliRunner
from tests.serving import Handler, serving_http
from tsaudit.cli import discovery, main
from tsaudit.cli import init as module
from tsaudit.cli.errors import Exit
from tsaudit.collect.probing import Probed
from tsaudit.config.file import advice, load
from tsaudit.config.settings import Columns, Settings, Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sqlite import Sqlite
from tsaudit.model.figures import TableKind

TRIED = module._tried


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, on a machine without a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TSAUDIT_CONFIG", raising=False)
    listening(monkeypatch, {})
    return tmp_path


def listening(monkeypatch: pytest.MonkeyPatch, ports: Mapping[int, int]) -> None:
    """On which ports servers are found instead of their usual ones; no others are."""
    monkeypatch.setattr(discovery, "_address", lambda host, port: f"http://127.0.0.1:{ports.get(port, 1)}")
    monkeypatch.setattr(discovery, "_on", lambda host, url, port: url.replace("127.0.0.1", host))
    monkeypatch.setattr(discovery, "databases_of", lambda engine, url: ())
    monkeypatch.setattr(module, "_tried", lambda one, *_: one)


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments])


def written() -> Settings:
    return load("tsaudit.yaml", resolve_env=False)


def test_init_when_nothing_is_found_writes_nothing(empty_folder: Path) -> None:
    """A placeholder would be an incident the next morning."""
    done = init()
    assert done.exit_code == Exit.USAGE
    assert "found no database here; name one, e.g. `tsaudit init db7:8086`" in done.stderr
    assert list(empty_folder.iterdir()) == []


def test_init_when_files_are_here_finds_them_by_their_content(empty_folder: Path) -> None:
    duckdb.connect(str(empty_folder / "my metrics.db")).close()
    duckdb.connect(str(empty_folder / "events.duckdb")).close()
    with sqlite3.connect(empty_folder / "events.sqlite") as connection:
        connection.execute("create table t (x)")
    (empty_folder / "notes.db").write_text("not a database")
    (empty_folder / "folder.db").mkdir()
    done = init()
    assert done.exit_code == Exit.OK
    assert [(t.name, t.engine, t.url.get_secret_value()) for t in written().targets] == [
        ("events", "duckdb", f"duckdb:///{empty_folder}/events.duckdb"),
        ("events-2", "sqlite", f"sqlite:///{empty_folder}/events.sqlite"),
        ("my-metrics", "duckdb", f"duckdb:///{empty_folder}/my metrics.db"),
    ]


class Acmedb(Sqlite):
    """An engine of another package that has SQLite's files."""

    name = "acmedb"
    example_url = "acme:///{name}.db"


class MarkedAcmedb(Acmedb):
    """One that marks its files."""

    file_magic = (0, b"ACME")


def test_init_lists_a_file_once_by_the_first_engine_that_has_such_files(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(empty_folder / "events.db") as connection:
        connection.execute("create table t (x)")
    (empty_folder / "sheet.acme").write_bytes(b"ACME 1.0")
    monkeypatch.setitem(ENGINES._plug_ins(), "acmedb", Acmedb())
    assert [(one.engine, one.url) for one in discovery._files(empty_folder)] == [("sqlite", "sqlite:///events.db")]
    monkeypatch.setitem(ENGINES._plug_ins(), "acmedb", MarkedAcmedb())
    assert [(one.engine, one.url) for one in discovery._files(empty_folder)] == [
        ("sqlite", "sqlite:///events.db"),
        ("acmedb", "acme:///sheet.acme"),
    ]


class Ping(Handler):
    """What an InfluxDB answers to /ping."""

    version = "1.6.7"

    def do_GET(self) -> None:
        self.send_response(204)
        self.send_header("X-Influxdb-Version", self.version)
        self.end_headers()


@pytest.fixture
def influxdb(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving_http(Ping) as server:
        listening(monkeypatch, {8086: server.server_port})
        yield "http://127.0.0.1:8086"


@pytest.mark.parametrize("version", ["1.6.7", "v1.11.8", "unknown"])
def test_init_when_an_influxdb_runs_here(influxdb: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was built from source says `unknown`."""
    monkeypatch.setattr(Ping, "version", version)
    assert init().exit_code == Exit.OK
    assert [(t.engine, t.url.get_secret_value()) for t in written().targets] == [("influxdb1", influxdb)]


def test_init_when_an_address_without_a_scheme_has_a_login(influxdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = influxdb.removeprefix("http://")
    done = init(f"me:hunter2@{host}")
    assert done.exit_code == Exit.OK
    assert "hunter2" not in done.stdout + Path("tsaudit.yaml").read_text()
    monkeypatch.setenv("TSAUDIT_INFLUXDB_PASSWORD", "hunter2")
    (target,) = load("tsaudit.yaml").targets
    assert (target.url.get_secret_value(), target.password) == (f"http://me@{host}", SecretStr("hunter2"))


def test_init_when_the_influxdb_is_of_another_family(influxdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ping, "version", "v3.0.1")
    assert "found no database here" in init().stderr


class Guarded(Ping):
    """Anybody may call /ping, but only a user may query."""

    def do_POST(self) -> None:
        has_login = "Authorization" in self.headers
        error = "authorization failed" if has_login else "unable to parse authentication credentials"
        self.answer(401, json.dumps({"error": error}).encode())


@pytest.mark.parametrize("user", ["", "tsaudit@", "grafana-7@"])
def test_init_says_that_an_influxdb_requires_a_login(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tried", TRIED)
    with serving_http(Guarded) as server:
        url = f"http://{user}127.0.0.1:{server.server_port}"
        done = init("--engine", "influxdb1", "--name", "lab", url)
    assert done.exit_code == Exit.OK
    first = "export what is missing above, then " if user else ""
    assert done.stdout.endswith(f"next: {first}`tsaudit check`\n")
    assert f"influxdb1 at {url}" in done.stdout
    what = "rejects the user name or the password" if user else "requires a login"
    assert f"connecting to it failed: the server {what} (HTTP 401)" in done.stderr
    assert "check `username` and `password` of the target" in done.stderr
    # Without a user name, nobody knows yet which password it is.
    assert ("export TSAUDIT_LAB_PASSWORD=" in done.stdout) == bool(user)
    (target,) = written().targets
    assert target.password == (SecretStr("${TSAUDIT_LAB_PASSWORD}") if user else None)


class Status(Handler):
    """What a GreptimeDB answers to /status."""

    body = b'{"commit":"4bb9ceb","branch":"main","rustc_version":"1.92","hostname":"h","version":"1.1.4"}'

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/status" else 404, self.body)


def test_init_when_a_greptimedb_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_http(Status) as server:
        listening(monkeypatch, {4000: server.server_port})
        assert init().exit_code == Exit.OK
        (target,) = written().targets
        assert (target.name, target.engine) == ("greptimedb", "greptimedb")
        assert target.url.get_secret_value() == "mysql+pymysql://127.0.0.1:4002"
        monkeypatch.setattr(Status, "body", b'{"version": "of something else"}')
        assert "found no database here" in init("--force").stderr


class Native(Handler):
    """What a MongoDB answers to whoever takes it for a web server (src/mongo/transport/asio)."""

    def do_GET(self) -> None:
        self.wfile.write(
            b"HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 85\r\n\r\n"
            b"It looks like you are trying to access MongoDB over HTTP on the native driver port.\r\n"
        )


def test_init_when_a_mongodb_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_http(Native) as server:
        listening(monkeypatch, {27017: server.server_port})
        assert init().exit_code == Exit.OK
        (target,) = written().targets
        assert (target.name, target.engine) == ("mongodb", "mongodb")
        assert target.url.get_secret_value() == "mongodb://127.0.0.1:27017"
        done = init("--force", "ada@plant7/readings?authSource=admin")
        assert done.exit_code == Exit.OK
        (target,) = written().targets
        assert target.url.get_secret_value() == "mongodb://ada@plant7:27017/readings?authSource=admin"


def test_init_when_it_is_killed_while_writing_leaves_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    init("sqlite:///shop.db")
    assert not list(Path().iterdir())


def test_init_when_an_influxdb_2_runs_here_asks_for_a_token(influxdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ping, "version", "v2.7.12")
    assert "export TSAUDIT_INFLUXDB_TOKEN=...   # a token that can read the databases" in init().stdout
    monkeypatch.setenv("TSAUDIT_INFLUXDB_TOKEN", "t0ken")
    (target,) = load("tsaudit.yaml").targets
    assert (target.engine, target.url.get_secret_value()) == ("influxdb2", influxdb)
    assert target.password is not None
    assert target.password.get_secret_value() == "t0ken"


def test_init_when_it_is_an_influxdb_3_asks_for_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    done = init("--engine", "influxdb3", "http://localhost:8181", "--name", "plant")
    assert "export TSAUDIT_PLANT_TOKEN=...   # a token that can read the databases" in done.stdout
    monkeypatch.setenv("TSAUDIT_PLANT_TOKEN", "t0ken")
    (target,) = load("tsaudit.yaml").targets
    assert target.engine == "influxdb3"
    assert target.password is not None
    assert target.password.get_secret_value() == "t0ken"


def test_init_when_options_say_what(empty_folder: Path) -> None:
    done = init("--engine", "sqlite", "sqlite:///it's.db", "--name", "shop")
    assert done.exit_code == Exit.OK
    (target,) = written().targets
    assert (target.name, target.url.get_secret_value()) == ("shop", f"sqlite:///{empty_folder}/it's.db")


@pytest.mark.parametrize(
    ("engine", "url", "name"),
    [
        ("duckdb", "duckdb:///data/my file.duckdb", "my-file"),
        ("influxdb1", "http://db7.example.com:8086", "db7.example.com"),
        ("influxdb1", "http://127.0.0.1:8086", "influxdb"),
        ("influxdb1", "http://localhost:8086", "influxdb"),
        ("influxdb2", "http://10.1.2.3:8086?org=acme", "influxdb"),
        ("influxdb1", "http://[::1]:8086", "influxdb"),
        ("mongodb", "mongodb://192.168.0.7:27017", "mongodb"),
        ("postgresql", "postgresql://tsaudit@db7.example.com/metrics", "metrics"),
    ],
)
def test_init_when_no_name_is_given_makes_one(engine: str, url: str, name: str) -> None:
    assert init("--engine", engine, url).exit_code == Exit.OK
    assert written().targets[0].name == name


def test_init_when_the_address_holds_a_password_keeps_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    done = init("--engine", "influxdb1", "http://me:hunter2@db:8086", "--name", "prod-1")
    assert "export TSAUDIT_PROD_1_PASSWORD=" in done.stdout
    assert "hunter2" not in done.stdout
    assert "hunter2" not in Path("tsaudit.yaml").read_text()
    assert advice("tsaudit.yaml") == ()
    monkeypatch.setenv("TSAUDIT_PROD_1_PASSWORD", "hunter2")
    (target,) = load("tsaudit.yaml").targets
    assert (target.url.get_secret_value(), target.password) == ("http://me@db:8086", SecretStr("hunter2"))


def test_init_when_the_address_holds_a_token_keeps_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    done = init("--engine", "influxdb2", "http://hunter2@db:8086", "--name", "prod-1")
    assert "hunter2" not in done.stdout
    assert "export TSAUDIT_PROD_1_TOKEN=" in done.stdout
    assert "hunter2" not in Path("tsaudit.yaml").read_text()
    monkeypatch.setenv("TSAUDIT_PROD_1_TOKEN", "hunter2")
    assert load("tsaudit.yaml").targets[0].url.get_secret_value() == "http://db:8086"


@pytest.mark.parametrize(
    ("engine", "url", "key"),
    [
        ("postgresql", "postgresql://db/plant?user=me&password=hunter2", "password"),
        ("influxdb2", "http://db:8086?token=hunter2", "token"),
        ("duckdb", "duckdb:///md:plant?motherduck_token=hunter2", "motherduck_token"),
    ],
)
def test_init_when_an_option_of_the_address_is_secret_writes_nothing(engine: str, url: str, key: str) -> None:
    done = init("--engine", engine, url)
    assert done.exit_code == Exit.USAGE
    assert f"`{key}` is secret: write `{key}=${{NAME}}`, and export NAME" in done.stderr
    assert "hunter2" not in done.output
    assert not Path("tsaudit.yaml").exists()
    assert init("--engine", engine, url.replace("hunter2", "${NAME}")).exit_code == Exit.OK


@pytest.mark.parametrize("url", ["postgres://me:hunter2@db7:5433", "postgres://me:hunter2@db7:5433/?sslmode=require"])
def test_init_when_the_address_names_no_database_writes_nothing(url: str) -> None:
    done = init(url)
    assert done.exit_code == Exit.USAGE
    assert "names no database: pass postgres" in done.stderr
    assert "://me@db7:5433/NAME for each database to audit" in done.stderr
    assert "hunter2" not in done.output
    assert not Path("tsaudit.yaml").exists()


def test_init_when_the_password_may_hold_any_character(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me:p%40ss%2Fword@db:5432/plant?sslmode=require"
    done = init("--engine", "postgresql", url)
    assert "export TSAUDIT_PLANT_PASSWORD=" in done.stdout
    assert advice("tsaudit.yaml") == ()
    monkeypatch.setenv("TSAUDIT_PLANT_PASSWORD", "p@ss/word")
    (target,) = load("tsaudit.yaml").targets
    assert target.url.get_secret_value() == "postgresql://me@db:5432/plant?sslmode=require"
    assert target.password is not None
    assert target.password.get_secret_value() == "p@ss/word"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--engine", "sqlite"], "`--engine` and `--name` are about one address: name exactly one"),
        (["--name", "x", "a:1", "b:1"], "are about one address: name exactly one"),
        (["--add"], "there is no tsaudit.yaml to add to; leave out `--add`"),
        (["--add", "--force"], "pass only one of them"),
        (["oracle://db/x"], "no engine has addresses that begin with oracle://, only with "),
        (["db:x"], "db:x is neither an existing file nor an address such as db7:8086"),
        (["metrics.db"], "there is no file "),
        (["./no/such/metrics.v3"], "/no/such/metrics.v3"),
        (["a..b:1"], "nothing that tsaudit knows responds at a..b:1"),
        (["localhost:8087"], "nothing that tsaudit knows responds at localhost:8087; name the engine with"),
        (["https://db:1"], "nothing that tsaudit knows responds at db:1; name the engine with `--engine`"),
        (["me:hunter2@:x"], "Invalid value for ADDRESS: :x is neither an existing file nor an address"),
        (
            ["--engine", "influx", "x"],
            "`influx` is not supported, did you mean influxdb1 or influxdb2 or influxdb3?",
        ),
        (["--engine", "sqlite", "x", "--name", "a b"], "`a b`: use only letters, digits"),
        (["--engine", "influxdb1", "http://[::1"], "is not an address: Invalid IPv6 URL"),
        (["--config", "no/such/folder/t.yaml", "--engine", "sqlite", "x"], "No such file or directory"),
    ],
)
def test_init_when_wrongly_asked(arguments: list[str], expected: str) -> None:
    done = init(*arguments)
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr
    assert not Path("tsaudit.yaml").exists()


def test_init_when_the_file_is_there_already() -> None:
    Path("tsaudit.yaml").write_text("mine")
    done = init()
    assert done.exit_code == Exit.USAGE
    assert "tsaudit.yaml already exists; pass `--add` to add targets to it, or `--force` to overwrite it" in done.stderr
    assert Path("tsaudit.yaml").read_text() == "mine"
    assert init("--force", "postgres://db7/x").exit_code == Exit.OK
    assert written().targets


def test_template_when_its_comments_are_taken_away_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file suggests has to work; a comment behind a value is one in YAML too."""
    for name in ("SLACK_TOKEN", "TSAUDIT_DB7_TOKEN"):
        monkeypatch.setenv(name, "x")
    assert init("--engine", "influxdb2", "http://db7:8086").exit_code == Exit.OK
    file = Path("tsaudit.yaml")
    lines = [
        line.replace("# ", "", 1) if line.lstrip().startswith("# ") and ":" in line.split("`")[0] else line
        for line in file.read_text().splitlines()
        if not line.startswith(("# What", "# Secrets", "# Whom", "# Without"))
    ]
    file.write_text("\n".join(lines))
    found = load(file)
    assert found.owners["default"].channel == "#data-platform"
    assert found.owners["team-metrics"].mention == "U024BE7LH"
    assert found.targets[0].plan == "influxdb-cloud-free"
    assert found.report.base_url == "https://reports.example.com"


@pytest.mark.parametrize(
    ("engine", "url", "expected"),
    [
        ("influxdb2", "http://db7:8086", ["plan", "max_series"]),
        ("greptimedb", "http://db7:4000", ["max_series"]),
        ("postgresql", "postgresql://db7/x", ["max_series", "max_bytes"]),
        ("mongodb", "mongodb://db7", []),
    ],
)
def test_template_suggests_only_what_the_engine_has(engine: str, url: str, expected: list[str]) -> None:
    assert init("--engine", engine, url).exit_code == Exit.OK
    file = Path("tsaudit.yaml")
    text = file.read_text()
    assert [key for key in ("plan", "max_series", "max_bytes") if f"{key}: " in text] == expected
    # They are valid once they are uncommented.
    targets, whom, rest = text.partition("\n# Whom to notify")
    targets = re.sub(r"^    # (?!databases|plan)", "    ", targets, flags=re.MULTILINE)
    file.write_text(targets + whom + rest)
    (target,) = load(file, resolve_env=False).targets
    assert (bool(target.limits), bool(target.harm.max_bytes)) == ("max_series" in expected, "max_bytes" in expected)
    assert "\n\n\n" not in text


def test_init_when_the_address_is_a_region() -> None:
    init("--engine", "timestream", "timestream://eu-central-1")
    (target,) = load("tsaudit.yaml").targets
    assert (target.name, target.engine) == ("eu-central-1", "timestream")
    assert (target.username, target.password) == (None, None)


def found_influxdb(monkeypatch: pytest.MonkeyPatch, *databases: str) -> None:
    monkeypatch.setattr(discovery, "databases_of", lambda engine, url: databases)


def test_init_names_a_server_after_its_only_database(influxdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found_influxdb(monkeypatch, "plant 7")
    assert f"  plant-7: influxdb1 at {influxdb} with plant 7\n" in init().stdout
    assert [t.name for t in written().targets] == ["plant-7"]


def test_init_lists_the_databases_of_a_server(influxdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found_influxdb(monkeypatch, "air", "it's", "web")
    assert f"  influxdb: influxdb1 at {influxdb} with air, it's, and web\n" in init().stdout
    text = Path("tsaudit.yaml").read_text()
    assert "    # databases: ['air', 'it''s', 'web']    # all that" in text
    (target,) = written().targets
    assert (target.name, target.databases) == ("influxdb", ())
    Path("tsaudit.yaml").write_text(text.replace("    # databases: ['air'", "    databases: ['air'"))
    assert written().targets[0].databases == ("air", "it's", "web")


@pytest.mark.parametrize(
    ("host", "url", "expected"),
    [
        ("db7", "http://127.0.0.1:8086", "http://db7:8086"),
        ("::1", "http://127.0.0.1:8086", "http://[::1]:8086"),
        ("db7", "postgresql://tsaudit@127.0.0.1:5432/postgres", "postgresql://tsaudit@db7:5432/postgres"),
    ],
)
def test_address_on_another_host(host: str, url: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert discovery._on(host, url, None) == expected


def test_init_when_a_postgresql_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_native", lambda address: "PostgreSQL")
    assert "export TSAUDIT_POSTGRESQL_PASSWORD=...   # the password" in init().stdout
    monkeypatch.setenv("TSAUDIT_POSTGRESQL_PASSWORD", "s3cret")
    assert "export" not in init("--force").stdout
    (target,) = load("tsaudit.yaml").targets
    assert (target.name, target.url.get_secret_value()) == (
        "postgresql",
        "postgresql://tsaudit@127.0.0.1:5432/postgres",
    )


@pytest.mark.parametrize("address", ["db7:5433", "audit@db7:5433"])
def test_init_when_a_postgresql_has_several_databases_asks_for_one(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own database, `postgres`, is hardly the one to audit."""
    monkeypatch.setattr(discovery, "_native", lambda address: "PostgreSQL")
    done = init(address)
    assert done.exit_code == Exit.USAGE
    assert "@db7:5433/NAME for each database to audit" in done.stderr.replace(":5432", ":5433")
    assert not Path("tsaudit.yaml").exists()


def _written_urls() -> list[tuple[str, str]]:
    return [(t.engine, t.url.get_secret_value()) for t in written().targets]


@pytest.mark.parametrize(
    ("url", "engine", "expected"),
    [
        ("postgres://db7/metrics", "postgresql", "postgresql://db7/metrics"),
        ("postgresql+psycopg://db7/metrics", "postgresql", "postgresql+psycopg://db7/metrics"),
        ("mongodb+srv://cluster.example.com/x", "mongodb", "mongodb+srv://cluster.example.com/x"),
        ("mysql://db7:4002", "greptimedb", "mysql+pymysql://db7:4002"),
        ("timestream://eu-central-1", "timestream", "timestream://eu-central-1"),
    ],
)
def test_init_knows_the_engine_of_an_address(url: str, engine: str, expected: str) -> None:
    assert init(url).exit_code == Exit.OK
    assert _written_urls() == [(engine, expected)]


def test_init_asks_a_server_what_it_is(influxdb: str) -> None:
    del influxdb
    for url, expected in (
        ("localhost:8086", "http://localhost:8086"),
        ("localhost", "http://localhost:8086"),
        ("http://reader:${READER}@localhost:8086", "http://reader:${READER}@localhost:8086"),
    ):
        assert init(url, "--force").exit_code == Exit.OK
        assert _written_urls() == [("influxdb1", expected)]


@pytest.mark.parametrize("rest", ["/telegraf", "/?db=telegraf&u=reader&p=s3cret-word", "/query?u=reader&p=s3cret-word"])
def test_init_takes_no_database_or_login_behind_a_server(influxdb: str, rest: str) -> None:
    """InfluxDB 1 takes them so in each request: in the file, the password would be there for all to read."""
    del influxdb
    done = init(f"http://localhost:8086{rest}")
    assert done.exit_code == Exit.USAGE
    assert "pass http://USER:PASSWORD@localhost:8086, and name databases below `databases`" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout
    assert not Path("tsaudit.yaml").exists()


def test_init_writes_the_address_of_a_file_for_a_path(empty_folder: Path) -> None:
    (empty_folder / "home.v3").touch()
    init("--engine", "sqlite", "home.v3")
    assert _written_urls() == [("sqlite", f"sqlite:///{empty_folder}/home.v3")]


def test_init_writes_no_path_with_dots(empty_folder: Path) -> None:
    (empty_folder / "project").mkdir()
    (empty_folder / "etc").mkdir()
    duckdb.connect(str(empty_folder / "events.db")).close()
    assert init("project/../events.db", "--config", "etc/tsaudit.yaml").exit_code == Exit.OK
    written = Path("etc/tsaudit.yaml").read_text()
    assert f"duckdb:///{empty_folder.resolve()}/events.db" in written


def test_init_takes_several_addresses_and_files(empty_folder: Path) -> None:
    duckdb.connect(str(empty_folder / "events.db")).close()
    done = init("events.db", "postgres://db7/events")
    assert done.exit_code == Exit.OK
    assert [t.name for t in written().targets] == ["events", "events-2"]
    assert _written_urls() == [
        ("duckdb", f"duckdb:///{empty_folder}/events.db"),
        ("postgresql", "postgresql://db7/events"),
    ]
    assert Path("tsaudit.yaml").read_text().count("max_bytes: 500GB") == 2, "below each of them"


MINE = """\
# ours
targets:
- name: shop   # the first
  engine: sqlite
  url: sqlite:///shop.db
  # limits: {}

# whom to tell
owners: {default: {channel: "#data"}}
"""


def test_init_adds_to_a_file_and_keeps_the_rest(empty_folder: Path) -> None:
    Path("tsaudit.yaml").write_text(MINE)
    Path("tsaudit.yaml").chmod(0o640)
    with sqlite3.connect(empty_folder / "shop.db") as connection:
        connection.execute("create table t (x)")
    assert "tsaudit.yaml already has every database that was found; nothing was added" in init("--add").stdout
    assert Path("tsaudit.yaml").read_text() == MINE

    done = init("--add", "postgres://db7/shop")
    assert done.stdout.splitlines()[0] == "added to tsaudit.yaml: 1 target"
    assert not Path("tsaudit.yaml").is_symlink()
    before, comment, after = MINE.partition("  # limits: {}\n")
    added = "- name: shop-2\n  engine: postgresql\n  url: 'postgresql://db7/shop'\n  owner: default "
    text = Path("tsaudit.yaml").read_text()
    assert text.startswith(before + comment + added)
    assert text.endswith(after)
    assert len(text.splitlines()) == len(MINE.splitlines()) + 9
    assert Path("tsaudit.yaml").stat().st_mode & 0o777 == 0o640
    assert [t.name for t in written().targets] == ["shop", "shop-2"]
    assert "nothing was added" in init("--add", "postgres://db7/shop").stdout
    assert [file.name for file in empty_folder.iterdir() if file.name.startswith(".")] == []


def test_init_proposes_an_owner_and_a_schedule_that_are_right_by_default(empty_folder: Path) -> None:
    assert init("postgres://db7/a", "postgres://db7/b").exit_code == Exit.OK
    text = Path("tsaudit.yaml").read_text()
    assert [text.count(f"\n    {line} ") for line in ("owner: default", 'schedule: "0 6 * * *"')] == [2, 2]
    for target in written().targets:
        assert (target.owner, target.schedule) == ("default", Target.model_fields["schedule"].default)
    assert written().owners["default"].channel is None


def test_init_proposes_the_roles_that_it_would_guess(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As comments: what nobody has confirmed is no declaration."""
    monkeypatch.setattr(module, "_tried", TRIED)
    with closing(sqlite3.connect(empty_folder / "shop.db")) as connection, connection:
        for table in ("readings", "keyed"):
            key = ", PRIMARY KEY (ts, site)" if table == "keyed" else ""
            connection.execute(f"CREATE TABLE {table} (ts TEXT, site TEXT, celsius REAL{key})")
            rows = [(f"2026-01-01 00:{n // 3:02}:00", f"s{n % 3}", n / 7) for n in range(60)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
    done = init()
    assert done.stdout.splitlines()[-2:] == [
        "the roles of columns in 1 table are a guess: confirm them below `columns` in tsaudit.yaml",
        "next: `tsaudit check`",
    ]
    (target,) = written().targets
    assert target.columns == {}
    file = Path("tsaudit.yaml")
    file.write_text(re.sub("(?m)^    # (columns:|  readings:)", r"    \1", file.read_text()))
    (target,) = written().targets
    assert target.columns == {
        "readings": Columns(kind=TableKind.SERIES, time="ts", tags=("site",), fields=("celsius",))
    }
    # Added to a file of somebody else, they are comments of the new target.
    file.write_text(MINE.replace("shop.db", "other.db"))
    assert init("--add").exit_code == Exit.OK
    assert "\n  #   readings: {kind: series" in file.read_text()
    assert [t.name for t in written().targets] == ["shop", "shop-2"]


def test_roles_are_read_with_the_password_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without one that is nowhere, no server is asked."""
    asked: list[Target] = []

    def probed(target: Target) -> None:
        asked.append(target)
        raise ConnectorError("there is no server")

    monkeypatch.setattr(discovery, "probed", probed)
    monkeypatch.setattr(module, "_tried", TRIED)
    assert init("postgresql://me:p%40ss-word@db7/plant").exit_code == Exit.OK
    assert init("--force", "influxdb1://db7").exit_code == Exit.USAGE
    monkeypatch.setattr(discovery, "_native", lambda address: "PostgreSQL")
    assert init("--force").exit_code == Exit.OK
    (target,) = asked
    assert target.password is not None
    assert target.password.get_secret_value() == "p@ss-word"
    assert target.budget.deadline_s < 10
    monkeypatch.setenv("TSAUDIT_POSTGRESQL_PASSWORD", "s3cret-word")
    assert init("--force").exit_code == Exit.OK
    assert [t.name for t in asked] == ["plant", "postgresql"]


def test_init_says_what_it_could_not_connect_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tried", TRIED)
    done = init("--engine", "influxdb1", "http://127.0.0.1:1", "--name", "metrics")
    assert done.exit_code == Exit.OK
    assert done.stderr.startswith("warning: metrics was added, but connecting to it failed: ")
    assert [t.name for t in written().targets] == ["metrics"]


@pytest.mark.parametrize(("refuses", "password"), [(True, "${TSAUDIT_PLANT_PASSWORD}"), (False, None)])
def test_init_asks_for_a_password_where_none_is_given_and_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, refuses: bool, password: str | None
) -> None:
    def probed(target: Target) -> Probed:
        assert target.password is None
        if refuses:
            raise ConnectorError("db7: no password supplied")
        return Probed(a_profile())

    monkeypatch.setattr(discovery, "probed", probed)
    monkeypatch.setattr(module, "_tried", TRIED)
    done = init("postgresql://auditor@db7/plant")
    assert done.exit_code == Exit.OK
    assert ("export TSAUDIT_PLANT_PASSWORD=..." in done.stdout) == refuses
    assert ("next: export what is missing above, then `tsaudit check`;" in done.stdout) == refuses
    assert "connecting" not in done.stderr
    (target,) = written().targets
    assert (target.password and target.password.get_secret_value()) == password


@pytest.mark.parametrize("login", ["auditor", "auditor:s3cret"])
def test_init_asks_for_one_password_of_a_user_of_several_databases(monkeypatch: pytest.MonkeyPatch, login: str) -> None:
    def probed(target: Target) -> Probed:
        raise ConnectorError("db7: no password supplied")

    monkeypatch.setattr(discovery, "probed", probed)
    monkeypatch.setattr(module, "_tried", TRIED)
    done = init(*(f"postgresql://{login}@db7/{name}" for name in ("plant", "shop")), "postgresql://other@db7/billing")
    assert done.stdout.count("export TSAUDIT_PLANT_PASSWORD=...   # the password; it is not in the file\n") == 1
    assert "TSAUDIT_SHOP_PASSWORD" not in done.stdout
    assert "export TSAUDIT_BILLING_PASSWORD=" in done.stdout
    passwords = [target.password and target.password.get_secret_value() for target in written().targets]
    assert passwords == ["${TSAUDIT_PLANT_PASSWORD}", "${TSAUDIT_PLANT_PASSWORD}", "${TSAUDIT_BILLING_PASSWORD}"]
    last = done.stdout.splitlines()[-1]
    assert last.startswith("next: export what is missing above, then `tsaudit check`; `tsaudit check --roles` then")


def test_init_signs_in_with_a_password_that_is_exported_already(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords: list[str] = []

    def probed(target: Target) -> Probed:
        assert target.password is not None
        passwords.append(target.password.get_secret_value())
        return Probed(a_profile())

    monkeypatch.setattr(discovery, "probed", probed)
    monkeypatch.setattr(module, "_tried", TRIED)
    monkeypatch.setenv("TSAUDIT_PLANT_PASSWORD", "s3cret-word")
    assert init("postgresql://auditor@db7/plant").exit_code == Exit.OK
    assert passwords == ["s3cret-word"]
    assert "password: ${TSAUDIT_PLANT_PASSWORD}" in Path("tsaudit.yaml").read_text()


def test_init_replaces_nothing_by_what_the_configuration_rejects(empty_folder: Path) -> None:
    text = f"history: sqlite:///{empty_folder}/audits.db\n{MINE}"
    file = Path("tsaudit.yaml")
    file.write_text(text)
    history = init("--add", "--engine", "sqlite", f"sqlite:///{empty_folder}/audits.db")
    assert "error: tsaudit.yaml:1: history: is a target's address" in history.stderr
    ambiguous = ("--engine", "influxdb2", "http://db7/?x=a@b c")
    assert "error: tsaudit.yaml:7: targets[0].url: the address is ambiguous" in init("--force", *ambiguous).stderr
    assert file.read_text() == text
    file.unlink()
    done = init(*ambiguous)
    assert done.exit_code == Exit.USAGE
    assert (
        done.stderr.splitlines()[-1] == "error: nothing was written: the lines are those that tsaudit.yaml would have"
    )
    assert not file.exists()


def test_init_ends_with_the_next_command(empty_folder: Path) -> None:
    (empty_folder / "my audits").mkdir()
    place = ("-c", "my audits/tsaudit.yaml")
    for arguments in (["postgres://db7/x"], ["--add", "postgres://db7/x"]):
        done = init(*place, *arguments)
        assert done.stdout.splitlines()[-1] == "next: `tsaudit check -c 'my audits/tsaudit.yaml'`"


def test_init_adds_to_what_it_has_written(empty_folder: Path) -> None:
    for name in ("a", "b", "c"):
        duckdb.connect(str(empty_folder / f"{name}.duckdb")).close()
        assert init(*(["--add"] if Path("tsaudit.yaml").exists() else [])).exit_code == Exit.OK
    assert [t.name for t in written().targets] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("targets: [{name: a, engine: sqlite, url: 'sqlite:///a.db'}]", "is not a list with a `-` before each target"),
        ("targets:\n  - {name: a, engine: nosql, url: x}\n", "tsaudit.yaml:2"),
        ("targets: [", "tsaudit.yaml:2"),
    ],
)
def test_init_leaves_a_file_alone_that_it_cannot_add_to(text: str, expected: str) -> None:
    Path("tsaudit.yaml").write_text(text)
    done = init("--add", "postgres://db7/shop")
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr
    assert Path("tsaudit.yaml").read_text() == text


def test_init_adds_to_the_file_behind_a_link_in_its_own_line_ends(empty_folder: Path) -> None:
    (empty_folder / "etc").mkdir()
    real = empty_folder / "etc" / "audits.yaml"
    real.write_bytes(MINE.replace("\n", "\r\n").encode())
    Path("tsaudit.yaml").symlink_to(real)
    assert init("--add", "postgres://db7/shop").exit_code == Exit.OK
    assert Path("tsaudit.yaml").is_symlink()
    text = real.read_bytes().decode()
    assert text.count("\r\n") == text.count("\n") == MINE.count("\n") + 9
    assert [t.name for t in written().targets] == ["shop", "shop-2"]


def test_init_does_not_rename_a_target_that_somebody_named() -> None:
    Path("tsaudit.yaml").write_text(MINE)
    done = init("--add", "postgres://db7/other", "--name", "shop")
    assert done.exit_code == Exit.USAGE
    assert "a target of tsaudit.yaml is named `shop`; pass another `--name`" in done.stderr
    assert Path("tsaudit.yaml").read_text() == MINE


def test_init_writes_the_path_of_a_file_as_its_own_folder_sees_it(empty_folder: Path) -> None:
    (empty_folder / "etc").mkdir()
    duckdb.connect(str(empty_folder / "events.db")).close()
    assert init("events.db", "--config", "etc/tsaudit.yaml").exit_code == Exit.OK
    (target,) = load("etc/tsaudit.yaml").targets
    assert target.url.get_secret_value() == f"duckdb:///{empty_folder}/events.db"
