"""Connections to PostgreSQL that are kept to the wall clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa

from tests.servers import Postgresql
from tsaudit.net import postgresql as wire

pytestmark = pytest.mark.wall_clock


@contextmanager
def _place_for_one(postgresql: Postgresql) -> Iterator[sa.URL]:
    """The address of a user who may have one connection, and has it."""
    owner = sa.make_url(postgresql.admin_url)
    postgresql.execute("CREATE ROLE lonely LOGIN PASSWORD 'lonely' CONNECTION LIMIT 1")
    try:
        yield owner.set(drivername="postgresql+psycopg", username="lonely", password="lonely")
    finally:
        postgresql.execute("DROP ROLE lonely")


def _connect(url: sa.URL, crowded_s: float) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    wire.keep_time(engine, 5.0, crowded_s=crowded_s)
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))


def test_server_that_has_no_place_is_waited_for(postgresql: Postgresql) -> None:
    with _place_for_one(postgresql) as url:
        first = psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))
        threading.Timer(1.0, first.close).start()
        _connect(url, 20.0)


@pytest.mark.wall_clock
def test_server_that_stays_full_is_an_error_in_time(postgresql: Postgresql) -> None:
    with _place_for_one(postgresql) as url:
        with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)):
            began = time.monotonic()
            with pytest.raises(sa.exc.OperationalError, match="too many connections"):
                _connect(url, 1.0)
            assert time.monotonic() - began < 15
        time.sleep(0.2)
