"""How PostgreSQL is connected to: one line for what is wrong, read-only, streamed, given up on the server too."""

from __future__ import annotations

import functools
import math
import socket
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.examples import examples
from tests.query_parameters import filled
from tests.servers import PASSWORD, Postgresql
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Connection, ConnectorError, FactError
from tsaudit.engines.opening import open_connection
from tsaudit.engines.postgresql import connector
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

RUNNING = "SELECT query FROM pg_stat_activity WHERE usename = 'tsaudit' AND state = 'active'"


def _message(url: str, **settings: Any) -> str:
    target = Target(name="t", engine="postgresql", url=url, **settings)
    with pytest.raises(ConnectorError) as raised, open_connection(target):
        pass
    text = str(raised.value)
    assert "\n" not in text
    assert PASSWORD not in text
    return text


@pytest.fixture
def target(postgresql: Postgresql) -> Target:
    rows = [Row(t, {"host": f"h{i % 3}"}, {"v": i / 7}) for i, t in enumerate(times(50))]
    return write(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]), "postgresql", postgresql)


@pytest.fixture
def connection(target: Target) -> Iterator[Connection]:
    with open_connection(target) as opened:
        yield opened


def _big(server: Postgresql, target: Target, rows: int) -> dict[str, Any]:
    """A table `big` beside the other, and how to list its hosts."""
    (schema,) = target.databases
    server.execute(f"CREATE TABLE {schema}.big AS SELECT i, 'host ' || i AS host FROM generate_series(1, {rows}) AS i")
    server.execute(f"GRANT SELECT ON {schema}.big TO tsaudit")
    return {"database": schema, "measurement": "big", "tags": ["host"], "time": None, "limit": 10_000_000}


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        said = _message(f"postgresql://tsaudit@127.0.0.1:{port}/shop")
    assert said == f"nothing listens on 127.0.0.1:{port} (connection refused): is PostgreSQL running there?"


def test_login_or_database_is_wrong(postgresql: Postgresql) -> None:
    where = f"cannot connect to 127.0.0.1:{postgresql.port}"
    wrong = postgresql.audit_url.replace(PASSWORD, "nearly-" + PASSWORD)
    assert _message(wrong) == f'{where}/postgres: password authentication failed for user "tsaudit"'
    nowhere = postgresql.audit_url.replace("/postgres", "/nowhere")
    assert _message(nowhere) == f'{where}/nowhere: database "nowhere" does not exist'
    nobody = postgresql.audit_url.replace("tsaudit:", "nobody:")
    assert _message(nobody) == f'{where}/postgres: password authentication failed for user "nobody"'


def test_password_that_is_missing_is_to_be_added(postgresql: Postgresql) -> None:
    without = postgresql.audit_url.replace(f":{PASSWORD}", "")
    assert "no password supplied: add `password: ${NAME}` to the target in tsaudit.yaml" in _message(without)


@pytest.mark.parametrize("password", ["nearly-@-secret", "s@/e:cret", "a@b@c"])
def test_password_that_takes_the_address_apart(password: str) -> None:
    message = _message(f"postgresql://tsaudit:{password}@127.0.0.1:1/postgres")
    assert message.startswith("the address is ambiguous: ")
    assert "write them as `username:` and `password:`" in message


def test_login_beside_the_address(postgresql: Postgresql) -> None:
    url = f"postgres://127.0.0.1:{postgresql.port}/postgres"
    target = Target(name="t", engine="postgresql", url=url, username="tsaudit", password=PASSWORD)
    with open_connection(target) as connection:
        assert connection.server_version[0].isdigit()


def test_nothing_can_be_written_even_with_the_right_to(
    postgresql: Postgresql, target: Target, connection: Connection
) -> None:
    (schema,) = target.databases
    postgresql.execute(f"GRANT ALL ON SCHEMA {schema} TO tsaudit; GRANT ALL ON {schema}.t TO tsaudit")
    raw: Any = vars(connection)["_raw"]
    for statement in (
        "CREATE TABLE {}.u (a INT)",
        "DELETE FROM {}.t",
        "INSERT INTO {}.t (time, host) VALUES (now(), 'x')",
    ):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            raw.execute(statement.format(schema))
        raw.rollback()


def test_session_is_left_as_it_was(connection: Connection, target: Target) -> None:
    raw: Any = vars(connection)["_raw"]
    shown = "SELECT name, setting FROM pg_settings ORDER BY name"
    before = raw.execute(shown).fetchall()
    raw.rollback()
    assert list(connection.query("measurements", 60, filled("measurements", database=target.databases[0])))
    assert raw.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert raw.execute(shown).fetchall() == before
    assert ("application_name", "tsaudit") in before


@pytest.mark.wall_clock
def test_statement_takes_too_long(postgresql: Postgresql, target: Target, connection: Connection) -> None:
    about = _big(postgresql, target, 500_000)
    with pytest.raises(FactError) as raised:
        list(connection.query("series_listing", 0.1, filled("series_listing", **about)))
    assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "canceled after 0.1 s")
    assert postgresql.rows(RUNNING) == []
    # The connection is still good.
    assert [
        b.to_pylist()
        for b in connection.query("measurements", 60, filled("measurements", database=target.databases[0]))
    ] == [[{"measurement": "big"}, {"measurement": "t"}]]


@pytest.mark.wall_clock
def test_whole_answer_takes_too_long_though_no_part_does(
    postgresql: Postgresql, target: Target, connection: Connection
) -> None:
    about = _big(postgresql, target, 100_000)
    slowly = (time.sleep(0.5) for _ in connection.query("series_listing", 1.0, filled("series_listing", **about)))
    with pytest.raises(FactError) as raised:
        list(slowly)
    assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "canceled after 1 s")


def test_answer_is_left_early(postgresql: Postgresql, target: Target, connection: Connection) -> None:
    about = _big(postgresql, target, 100_000)
    rows = connection.query("series_listing", 60, filled("series_listing", **about))
    for batch in rows:
        assert 0 < batch.num_rows <= 10_000
        break
    rows.close()
    assert postgresql.rows("SELECT state FROM pg_stat_activity WHERE usename = 'tsaudit'") == [("idle",)]


@pytest.mark.wall_clock
def test_table_is_locked(postgresql: Postgresql, target: Target, connection: Connection) -> None:
    (schema,) = target.databases
    about = {"database": schema, "measurement": "t", "tags": ["host"], "time": None, "limit": 10}
    with postgresql.connect() as other, other.transaction():
        other.execute(f"LOCK TABLE {schema}.t IN ACCESS EXCLUSIVE MODE".encode())
        began = time.monotonic()
        with pytest.raises(FactError) as raised:
            list(connection.query("series_listing", 60, filled("series_listing", **about)))
    assert time.monotonic() - began < 10
    expected = (Reason.TIMED_OUT, "locked by another session for more than 2 s")
    assert (raised.value.reason, raised.value.detail) == expected
    assert [b.num_rows for b in connection.query("series_listing", 60, filled("series_listing", **about))] == [3]


def test_right_is_missing(postgresql: Postgresql, target: Target, connection: Connection) -> None:
    (schema,) = target.databases
    postgresql.execute(f"CREATE TABLE {schema}.secret (host TEXT)")
    about = {"database": schema, "measurement": "secret", "tags": ["host"], "time": None, "limit": 10}
    with pytest.raises(FactError) as raised:
        list(connection.query("series_listing", 60, filled("series_listing", **about)))
    expected = "permission denied for table secret; see sql/postgresql/grants.md"
    assert (raised.value.reason, raised.value.detail) == (Reason.DENIED, expected)


def test_connection_is_lost(postgresql: Postgresql, target: Target, connection: Connection) -> None:
    about = _big(postgresql, target, 500_000)
    end_it = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tsaudit'"
    answer = connection.query("series_listing", 60, filled("series_listing", **about))
    with pytest.raises(FactError) as raised:
        [postgresql.rows(end_it) for _ in answer]
    assert raised.value.reason is Reason.UNREACHABLE
    assert raised.value.detail.startswith("the connection was lost (")
    # Only this session was ended: the next statement has a new one.
    assert list(connection.query("databases", 60, filled("databases")))


def test_statement_fails(connection: Connection, target: Target) -> None:
    about = {"database": target.databases[0], "measurement": "gone", "tags": ["a"], "time": None, "limit": 1}
    with pytest.raises(FactError, match="gone") as raised:
        list(connection.query("series_listing", 60, filled("series_listing", **about)))
    assert raised.value.reason is Reason.FAILED
    assert "\n" not in raised.value.detail


_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=15)
_HOSTILE = st.lists(st.sampled_from(["'", '"', "\\", ";", "--", "/*", "\n", "%", "%s", ":a", "{}", " "]), min_size=1)


@settings(deadline=None, max_examples=examples(60))
@given(_TEXT | _HOSTILE.map("".join))
def test_names_and_texts_come_back(postgresql: Postgresql, connection: Connection, text: str) -> None:
    language = ENGINES["postgresql"].language
    value, name = language.string(text), language.identifier(text)
    # A column alone, and one among others that are null, empty, and no number.
    for further in ("", ", NULL, '', 'NaN'::float8, '-Infinity'::float8, NULL::int, true"):
        statement = f"SELECT {value} AS {name}{further} UNION ALL SELECT NULL{further}"
        read = functools.partial(vars(connector)["_read_rows"], statement=statement, as_text=True)
        (batch,) = vars(connector.PostgresqlConnection)["_stream"](connection, read, 60)
        # Names are kept to 63 bytes.
        assert text.encode().startswith(batch.schema.names[0].encode())
        found, *others = (column.to_pylist() for column in batch.columns)
        assert found == [text, None]
        expected = [None, "", "nan", -math.inf, None, True] if further else []
        assert [str(one) if one != one else one for one, _ in others] == expected


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_names_of_a_database_that_accepts_any_bytes(postgresql: Postgresql, encoding: str) -> None:
    with psycopg.connect(postgresql.admin_url, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS any_bytes")
        admin.execute("CREATE DATABASE any_bytes ENCODING SQL_ASCII TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    url = postgresql.admin_url.removesuffix("/postgres") + "/any_bytes"
    with psycopg.connect(url, autocommit=True) as owner:
        for statement in (
            "CREATE TABLE zähler (ts timestamptz PRIMARY KEY, straße text, wert float8)",
            "INSERT INTO zähler VALUES (now(), 'Köln', 1.5)",
        ):
            owner.execute(statement.encode(encoding))
    profile = collected(Target(name="t", engine="postgresql", url=url))
    assert profile.gaps == ()
    (table,) = profile.measurements
    assert table.name == "zähler"
    assert list(table.columns) == ["ts", "straße", "wert"]


@pytest.mark.parametrize("place", ["://tsaudit:{}@127.0.0.1:1/postgres", "://tsaudit@127.0.0.1:1/postgres?password={}"])
def test_password_that_the_driver_quotes_is_masked(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Wherever the URL has it: drivers quote what they were given, some of them in whole."""

    def refuse(*_: Any, **given: Any) -> None:
        raise psycopg.OperationalError(f"cannot make sense of password={given['password']!r} or {given}")

    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    message = _message(f"postgresql{place.format(PASSWORD)}")
    assert message.startswith("cannot connect to 127.0.0.1:1/postgres: cannot make sense of password='***' or ")


@pytest.mark.parametrize("before", [290, 297, 298])
def test_password_is_not_cut_in_half_by_the_length_of_a_line(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    def refuse(*_: Any, **given: Any) -> None:
        raise psycopg.OperationalError("x" * before + given["password"])

    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    message = _message(f"postgresql://tsaudit:{PASSWORD}@127.0.0.1:1/postgres")
    assert PASSWORD[:2] not in message.rpartition("x")[2]


def test_a_guest_takes_one_process_and_compiles_nothing(
    postgresql: Postgresql, target: Target, connection: Connection
) -> None:
    """However much a server likes to: a plan of the audit has neither workers nor a compiler in it."""
    (schema,) = target.databases
    eager = {
        "max_parallel_workers_per_gather": "4",
        "parallel_setup_cost": "0",
        "parallel_tuple_cost": "0",
        "min_parallel_table_scan_size": "0",
        "jit": "on",
        "jit_above_cost": "0",
    }
    raw: Any = vars(connection)["_raw"]
    shown = f"EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM {schema}.big".encode()
    _big(postgresql, target, 10_000)
    for name, value in eager.items():
        raw.execute(f"SET {name} = '{value}'".encode())
    raw.commit()
    plan = "\n".join(line for (line,) in raw.execute(shown).fetchall())
    assert "Gather" in plan, "or the test would show nothing"
    raw.rollback()
    stream: Any = getattr(connection, "_stream")  # noqa: B009  what each statement runs in
    (lines,) = stream(lambda raw: (raw.execute(shown).fetchall() for _ in range(1)), 60)
    inside = "\n".join(line for (line,) in lines)
    assert "Gather" not in inside
    assert "JIT" not in inside
