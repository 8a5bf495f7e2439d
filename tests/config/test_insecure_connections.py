"""What `tsaudit check` says of connections on which others could read along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tsaudit.config.file import load_mapping
from tsaudit.config.pitfalls import insecure_connections
from tsaudit.config.settings import Settings


def said(url: str, engine: str = "influxdb1", **more: Any) -> list[str]:
    top = {key: more.pop(key) for key in ("history", "slack", "report") if key in more}
    data = {"targets": [{"name": "t", "engine": engine, "url": url, **more}], **top}
    settings: Settings = load_mapping(data, label="x", folder=Path("/"))
    return list(insecure_connections(settings, settings.targets))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSSLMODE", "PGSSLROOTCERT"):
        monkeypatch.delenv(name, raising=False)


EXPOSED: list[tuple[str, dict[str, Any], str]] = [
    ("http://u:p@influx.example.com:8086", {}, "over plain http"),
    ("http://influx.example.com:8086", {"username": "u", "password": "pw"}, "over plain http"),
    ("http://10.1.2.3", {"engine": "influxdb2", "password": "token"}, "over plain http"),
    ("http://[fd00::1]:8181", {"engine": "influxdb3", "password": "token"}, "over plain http"),
    ("timestream://eu-central-1?endpoint=http://proxy.example.com", {"engine": "timestream"}, "over plain http"),
    ("postgresql://u:p@db.example.com/x", {"engine": "postgresql"}, "sslmode=prefer"),
    ("postgresql://u:p@db.example.com/x?sslmode=disable", {"engine": "postgresql"}, "sslmode=disable"),
    ("postgresql://u:p@db.example.com/x?sslmode=allow", {"engine": "postgresql"}, "may not encrypt at all"),
    ("postgresql://u:p@db.example.com/x?sslmode=require", {"engine": "postgresql"}, "does not verify the certificate"),
    ("postgresql:///x?host=db.example.com", {"engine": "postgresql"}, "sslmode=prefer"),
    ("postgresql://u:p@localhost:5432,db.example.com/x", {"engine": "postgresql"}, "sslmode=prefer to db.example.com"),
    ("postgresql:///x?host=db.example.com:5432&host=localhost", {"engine": "postgresql"}, "to db.example.com"),
    ("postgresql://localhost/x?hostaddr=10.1.2.3", {"engine": "postgresql"}, "to 10.1.2.3"),
    ("mysql+pymysql://u:p@g.example.com:4002", {"engine": "greptimedb"}, "not encrypted"),
    (
        "mysql+pymysql://u:p@g.example.com?ssl_key=k",
        {"engine": "greptimedb"},
        "does not verify the certificate without `ssl_ca`",
    ),
    ("mysql+pymysql://u@g?ssl_ca=c&ssl_check_hostname=false", {"engine": "greptimedb"}, "switched off"),
    ("mongodb://u:p@m.example.com", {"engine": "mongodb"}, "not encrypted"),
    ("mongodb://127.0.0.1,m.example.com", {"engine": "mongodb"}, "not encrypted"),
    ("mongodb://u:p@m?tls=true&tlsInsecure=true", {"engine": "mongodb"}, "tlsinsecure=true"),
    ("mongodb+srv://u:p@m?tlsAllowInvalidCertificates=true", {"engine": "mongodb"}, "switched off"),
    ("mongodb+srv://u:p@m?tlsAllowInvalidHostnames=true", {"engine": "mongodb"}, "switched off"),
    ("mongodb+srv://u:p@m?tls=false", {"engine": "mongodb"}, "not encrypted"),
    ("http://h", {"history": "postgresql://u:p@db.example.com/h"}, "history: sslmode=prefer"),
    ("http://h", {"slack": {"token": "x", "base_url": "http://slack.example.com"}}, "slack.base_url: credentials"),
    ("http://h", {"slack": {"webhook": "http://hooks.example.com/x"}}, "slack.webhook: credentials"),
    ("http://h", {"report": {"folder": "ftp://u:p@files.example.com/x"}}, "report.folder: credentials"),
]
SAFE: list[tuple[str, dict[str, Any]]] = [
    ("http://influx.example.com:8086", {}),
    ("http://u:p@127.0.0.1:8086", {}),
    ("http://u:p@localhost:8086", {}),
    ("http://[::1]:8181", {"engine": "influxdb3", "password": "token"}),
    ("https://u:p@influx.example.com", {}),
    ("timestream://eu-central-1", {"engine": "timestream"}),
    ("postgresql://u:p@db.example.com/x?sslmode=verify-full", {"engine": "postgresql"}),
    ("postgresql://u:p@db.example.com/x?sslmode=verify-ca", {"engine": "postgresql"}),
    ("postgresql://u:p@db.example.com/x?sslmode=require&sslrootcert=ca.pem", {"engine": "postgresql"}),
    ("postgresql://u:p@localhost/x", {"engine": "postgresql"}),
    ("postgresql:///x?host=/var/run/postgresql", {"engine": "postgresql"}),
    ("postgresql://u:p@127.0.0.1:5432,[::1]:5433/x", {"engine": "postgresql"}),
    ("postgresql:///x?host=localhost:5432&hostaddr=::1", {"engine": "postgresql"}),
    ("mysql+pymysql://u:p@g.example.com?ssl_ca=ca.pem", {"engine": "greptimedb"}),
    ("mysql+pymysql://u:p@127.0.0.1:4002", {"engine": "greptimedb"}),
    ("mongodb://u:p@m.example.com?tls=true", {"engine": "mongodb"}),
    ("mongodb+srv://u:p@m.example.com", {"engine": "mongodb"}),
    ("mongodb://u:p@127.0.0.1:27017,localhost:27018", {"engine": "mongodb"}),
    ("sqlite:///x.db", {"engine": "sqlite"}),
    ("http://h", {"slack": {"token": "x"}, "report": {"folder": "s3://bucket/x"}}),
]


@pytest.mark.parametrize(("url", "more", "expected"), EXPOSED, ids=[url for url, _, _ in EXPOSED])
def test_an_exposed_connection_gives_one_line(url: str, more: dict[str, Any], expected: str) -> None:
    (line,) = said(url, **more)
    assert expected in line
    assert "u:p@" not in line


@pytest.mark.parametrize(("url", "more"), SAFE, ids=[url for url, _ in SAFE])
def test_a_safe_connection_gives_none(url: str, more: dict[str, Any]) -> None:
    assert said(url, **more) == []


def test_the_environment_counts_as_for_psql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    assert said("postgresql://u:p@db.example.com/x", "postgresql") == []
