"""Addresses with credentials: refused where two readers could take them apart in different ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from tsaudit import secrets
from tsaudit.config.file import ConfigError, load_mapping
from tsaudit.net.addresses import is_ambiguous, is_loopback, read, sql_url, without_credentials

CLEAR = (
    *("http://host:8086", "http://u:p@host:8086/path", "https://h?org=acme", "http://[::1]:8086", "http://u:p@[::1]/x"),
    *("postgresql://u:p%40ss%2F@host:5432/db?sslmode=verify-full", "postgresql:///db?host=/var/run/postgresql"),
    *("mongodb://u:p@a:27017,b:27017/db?replicaSet=r", "mongodb+srv://u:p@cluster.example.net", "sqlite:///a@b.db"),
    *("duckdb:////tmp/a b#c.db", "timestream://eu-central-1?endpoint=https://host:8443", "s3://bucket/folder", "x"),
    *(
        ".tsaudit/reports",
        "http://u:a:b@host",
        "postgresql://host:port/db",
        "mysql+pymysql://u@host:4002/public",
        "http://u:p%zz@host",
    ),
)
AMBIGUOUS = (
    *(
        "http://u:aa@TAIL/zz9@host",
        "http://u:a/b@host",
        "http://u:a?b@host:8086",
        "http://u:a#b@host",
        "http://u:a b@host",
    ),
    *(
        "http://u:a@b@host",
        "postgresql://u:a@b@host/db",
        "http://u:a[b@host",
        "http://u:a\tb@host",
        "http://u:1/x@host",
    ),
    *(
        "http://u:1/x@host",
        "mongodb://u:p/x@a:27017,b/db",
        "http://h?password=a@b",
        "http://u:p@host:8086\n",
    ),
)


@pytest.mark.parametrize("text", CLEAR)
def test_an_address_that_all_read_alike_is_taken(text: str) -> None:
    assert not is_ambiguous(text)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_an_address_that_can_be_read_in_two_ways_is_not(text: str) -> None:
    assert is_ambiguous(text)


def load(url: str, **top: object) -> object:
    data = {"targets": [{"name": "t", "engine": "influxdb1", "url": url}], **top}
    return load_mapping(data, label="tsaudit.yaml", folder=Path("/"))


SPECIAL = ("@", "/", "?", "#", " ", "[", "]", "\t", "\n")


@pytest.mark.parametrize("special", SPECIAL, ids=ascii)
@pytest.mark.parametrize("place", ["password", "username", "history", "folder"])
def test_a_variable_that_changes_how_an_address_is_read_is_refused(
    special: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S", f"9a8b7c{special}Zz4Tail55")
    url = {"password": "http://u:${S}@host:8086", "username": "http://${S}:p@host:8086"}.get(place, "http://h")
    others: dict[str, dict[str, object]] = {
        "history": {"history": "postgresql://u:${S}@host/db"},
        "folder": {"report": {"folder": "ftp://u:${S}@host/reports"}},
    }
    with pytest.raises(ConfigError) as caught:
        load(url, **others.get(place, {}))
    (line,) = caught.value.problems
    assert "percent-encode" in line
    assert ("`username:` and `password:`" in line) == (place in ("password", "username"))
    assert "9a8b" not in line
    assert "Tail" not in line


def test_a_colon_moves_what_stands_before_it_into_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "aa:bb99")
    load("http://u:${S}@host")
    with pytest.raises(ConfigError):
        load("http://${S}:x@host")
    with pytest.raises(ConfigError):
        load("http://${S}@host")


@pytest.mark.parametrize("value", ["a&sslmode=disable", "a#b"])
def test_an_option_may_not_bring_others_with_it(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", value)
    with pytest.raises(ConfigError):
        load("http://h", history="postgresql://host/db?password=${S}")


def test_a_whole_address_out_of_a_variable_is_taken_and_its_password_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL", "http://reader:Geheim77@host:8086")
    load("${URL}")
    assert secrets.mask("http://reader:Geheim77@host:8086") == "http://reader:***@host:8086"


def test_hosts_and_names_out_of_variables_stay_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "influx-7.example.com")
    monkeypatch.setenv("BUCKET", "reports-7")
    monkeypatch.setenv("SHIP_TOKEN", "Geheim77")
    load("http://${HOST}:8086", report={"folder": "s3://${BUCKET}/x"}, owners={"default": {"email": "${SHIP_TOKEN}"}})
    assert secrets.mask("influx-7.example.com reports-7 Geheim77") == "influx-7.example.com reports-7 ***"


@pytest.mark.parametrize("name", ["AREA", "PWD", "COMPASS_DIR"])
@pytest.mark.parametrize(
    ("url", "folder", "history"),
    [
        ("duckdb:///${V}", "x", "sqlite://"),
        ("duckdb:///${V}/plant.duckdb?access_mode=READ_ONLY", "x", "sqlite://"),
        ("http://h", "${V}/reports", "sqlite://"),
        ("http://h", "reports-${V}", "sqlite://"),
        ("http://h", "x", "sqlite:///${V}/history.db"),
    ],
)
def test_paths_out_of_variables_stay_readable(
    name: str, url: str, folder: str, history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "/srv/telemetry-7/plant")
    url, folder, history = (text.replace("V", name) for text in (url, folder, history))
    load_mapping(
        {
            "targets": [{"name": "t", "engine": "duckdb" if "duckdb" in url else "influxdb1", "url": url}],
            "report": {"folder": folder},
            "history": history,
        },
        label="tsaudit.yaml",
        folder=Path("/"),
    )
    assert secrets.mask("/srv/telemetry-7/plant/tsaudit.yaml:3") == "/srv/telemetry-7/plant/tsaudit.yaml:3"


@pytest.mark.parametrize(
    "url", ["sqlite:///shop.db?key=${S}", "sqlite:///shop.db#${S}", "mysql:///u:${S}@h/db", "u:${S}@h", "mysql:/u:${S}"]
)
def test_secrets_in_what_looks_like_a_path_are_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "Geheim77")
    load(url)
    assert secrets.mask("Geheim77") == "***"


def test_user_out_of_a_variable_stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", "plant-7")
    monkeypatch.setenv("READERS", "Geheim77")
    target = {"name": "t", "engine": "influxdb1", "url": "http://h", "username": "${READER}", "password": "${READERS}"}
    load_mapping({"targets": [target]}, label="tsaudit.yaml", folder=Path("/"))
    assert secrets.mask("plant-7 Geheim77") == "plant-7 ***"


def test_what_stands_in_the_file_as_plain_text_is_a_secret_too() -> None:
    data = {
        "history": "postgresql://h:History77@host/db",
        "report": {"folder": "ftp://f:Folder77@host/x"},
        "slack": {"webhook": "https://hooks.slack.com/services/T0/B0/Webhook77"},
        "targets": [
            {"name": "a", "engine": "influxdb1", "url": "http://h", "username": "u", "password": "Password77"},
            {"name": "b", "engine": "postgresql", "url": "postgresql://u:Inline77@h/db?sslpassword=Option77"},
        ],
    }
    load_mapping(data, label="x", folder=Path("/"))
    planted = ("History77", "Folder77", "Webhook77", "Password77", "Inline77", "Option77")
    assert secrets.mask(" ".join(planted)) == " ".join(["***"] * len(planted))


def test_listing_targets_needs_no_secret_and_refuses_none() -> None:
    data = {"targets": [{"name": "t", "engine": "influxdb1", "url": "http://u:${NOT_SET}@host"}]}
    load_mapping(data, label="x", folder=Path("/"), resolve_env=False)


def test_what_is_shown_of_an_address_has_no_credentials() -> None:
    assert without_credentials("ftp://u:p@host:21/a/b?x=1#c") == "ftp://host:21/a/b#c"
    assert without_credentials("s3://bucket/a") == "s3://bucket/a"
    assert without_credentials("/tmp/a@b") == "/tmp/a@b"


def test_parts_are_those_of_the_text() -> None:
    found = read("postgresql://u:p%40@[::1]:5432/db?SSLmode=require")
    assert found is not None
    assert (found.host, found.username, found.password) == ("::1", "u", "p%40")
    assert found.options == {"sslmode": "require"}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "", "/var/run", "a.localhost"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "example.com", "localhost.example.com", "::2", "0.0.0.0"])
def test_other_machines(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("address", "database"),
    [
        ("sqlite:////data/a%20b%3F%25.db", "/data/a b?%.db"),
        ("postgresql://h/plant%2F1", "plant/1"),
        ("sqlite:///a+b", "a+b"),
        ("postgresql://h", None),
    ],
)
def test_sql_url_when_the_name_of_the_database_is_encoded(address: str, database: str | None) -> None:
    assert sql_url(address).database == database
