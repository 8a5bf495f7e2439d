"""Reports in S3: boto3 against moto's server. Nothing here is ever skipped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import boto3
import pytest
from click.testing import CliRunner
from moto.server import ThreadedMotoServer

from tests.databases import Dataset, Row, Table, times, write
from tests.report import sample
from tests.report.test_index import an_entry, listed
from tests.servers import free_port
from tsaudit import report
from tsaudit.cli import main
from tsaudit.config import settings as config
from tsaudit.history.store import Store
from tsaudit.report import index, storage
from tsaudit.report.storage import Folder, ReportError

FOLDER = "s3://reports/daily"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an object store."""
    started = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What boto3 reads, with no profile or role of this machine; the client is made anew."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    storage._client.cache_clear()
    yield monkeypatch
    storage._client.cache_clear()


@pytest.fixture
def bucket(server: str, environment: pytest.MonkeyPatch) -> Iterator[Any]:
    """The empty bucket `reports`."""
    environment.setenv("AWS_ENDPOINT_URL_S3", server)
    found = boto3.session.Session().resource("s3").Bucket("reports")
    found.create()
    yield found
    found.objects.all().delete()
    found.delete()


def keys(bucket: Any) -> set[str]:
    return {one.key for one in bucket.objects.all()}


@pytest.mark.full
def test_a_browser_shows_what_is_written(bucket: Any) -> None:
    location = sample.write_rich(config.Report(folder=FOLDER))
    assert location.url == location.path == f"{FOLDER}/metrics-prod/2026-03-31.html"
    assert {key for key in keys(bucket) if not key.startswith("daily/rules/")} == {
        "daily/index.html",
        "daily/_index.json",
        "daily/_targets/metrics-prod.json",
        "daily/metrics-prod/2026-03-31.html",
        "daily/metrics-prod/2026-03-31.json",
        "daily/metrics-prod/latest.html",
    }
    kinds = {one.key.rpartition(".")[2]: one.Object().content_type for one in bucket.objects.all()}
    assert kinds == {"html": "text/html; charset=utf-8", "json": "application/json"}


def test_links_are_below_the_configured_address(bucket: Any) -> None:
    settings = config.Report(folder="s3://reports", base_url="https://reports.example/ts/")
    assert sample.write_rich(settings).url == "https://reports.example/ts/metrics-prod/2026-03-31.html"
    assert "metrics-prod/2026-03-31.html" in keys(bucket)


def test_an_audit_writes_its_report_and_the_index(bucket: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(10)]
    write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "a.db")
    (tmp_path / "tsaudit.yaml").write_text(
        f"report: {{folder: '{FOLDER}'}}\ntargets: [{{name: a, engine: sqlite, url: 'sqlite:///a.db'}}]\n"
    )
    monkeypatch.chdir(tmp_path)
    checked = CliRunner().invoke(main, ["check"])
    assert f"{FOLDER} is writable" in checked.output
    assert keys(bucket) == set()
    done = CliRunner().invoke(main, ["audit", "--day", "2026-03-31", "--fail-on", "never"])
    assert done.exit_code == 0, done.output
    assert "a/latest.html" in Folder(FOLDER).read("index.html").decode()  # type: ignore[union-attr]
    assert "daily/a/2026-03-31.json" in keys(bucket)


@pytest.mark.full
def test_writers_at_once_lose_no_entry(bucket: Any, tmp_path: Any) -> None:
    folder, names = Folder(FOLDER), [f"target-{n:02}" for n in range(8)]

    def work(name: str) -> None:
        index.write_entry(folder, an_entry(name))
        index.write_page(folder, store)

    with Store.open(f"sqlite:///{tmp_path}/history.db") as store, ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(work, names))
    assert listed(folder) == set(names)


@pytest.mark.full
def test_more_entries_than_a_listing_holds(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(FOLDER)
    for number in range(7):
        folder.write(f"d/{number}.json", str(number).encode())
    folder.write("d/other.txt", b"x")
    folder.write("d/below/8.json", b"8")
    client, asked = storage._client(), list[dict[str, Any]]()
    client.meta.events.register("provide-client-params.s3.ListObjectsV2", lambda params, **_: params | {"MaxKeys": 3})
    client.meta.events.register("before-call.s3.ListObjectsV2", lambda params, **_: asked.append(params))
    marks = folder.versions("d", ".json")
    assert list(marks) == [f"{n}.json" for n in range(7)]
    assert len(asked) > 2
    folder.write("d/3.json", b"changed")
    assert {name for name, mark in folder.versions("d", ".json").items() if mark != marks[name]} == {"3.json"}
    assert folder.read_all("d", ["3.json", "absent.json"]) == {"3.json": b"changed"}


def test_old_reports_are_deleted(bucket: Any) -> None:
    folder = Folder(FOLDER)
    for name in ("a/2026-01-01.html", "a/2026-01-01.json", "a/2026-03-01.html", "a/latest.html", "b/2026-01-01.html"):
        folder.write(name, b"x")
    report.remove_old("a", config.Report(folder=FOLDER, keep_days=30), date(2026, 3, 1))
    assert keys(bucket) == {"daily/a/2026-03-01.html", "daily/a/latest.html", "daily/b/2026-01-01.html"}


def test_what_is_not_there_is_nothing(bucket: Any) -> None:
    folder = Folder(FOLDER)
    assert folder.read("absent.json") is None
    assert folder.versions("absent", ".json") == {}
    assert folder.read_all("absent", []) == {}
    folder.delete("absent.json")


def test_a_bucket_that_does_not_exist_is_one_clear_line(bucket: Any) -> None:
    with pytest.raises(ReportError, match=r"^cannot write s3://gone/x/a\.html: .*NoSuchBucket.*`report\.folder`$"):
        Folder("s3://gone/x").write("a.html", b"")
    with pytest.raises(ReportError, match=r"^cannot read s3://gone/x/a\.html: .*NoSuchBucket"):
        Folder("s3://gone/x").read("a.html")


def test_a_store_that_cannot_be_reached_is_one_clear_line(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ReportError, match=r"^cannot write s3://reports/daily/a\.html: Could not connect .*folder`$"):
        Folder(FOLDER).write("a.html", b"")


def test_a_password_in_the_endpoint_is_masked(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ENDPOINT_URL_S3", f"http://user:Geheim-9911@127.0.0.1:{free_port()}")
    with pytest.raises(ReportError, match=r"Could not connect to the endpoint URL: .*127\.0\.0\.1") as caught:
        Folder(FOLDER).write("a.html", b"")
    assert "Geheim" not in str(caught.value)


def test_an_answer_that_is_not_of_an_object_store_is_no_success(bucket: Any) -> None:
    """Such as a login page with status 200."""
    folder = Folder(FOLDER)
    storage._client().meta.events.register("after-call.s3.PutObject", lambda parsed, **_: parsed.pop("ETag"))
    with pytest.raises(ReportError, match=r"^cannot write s3://reports/daily/a\.html: the response has no ETag"):
        folder.write("a.html", b"")


@pytest.mark.costly
@pytest.mark.parametrize("prefix", ["a b/ü+%41", "x&y=z;'", "a//b", "p?q=1#f", "%2F", "<&>"])
def test_names_with_special_characters_stay_as_they_are(bucket: Any, prefix: str) -> None:
    folder, name = Folder(f"s3://reports/{prefix}"), "t+1 ä%20.json"
    folder.write(f"d/{name}", b"1")
    assert keys(bucket) == {f"{prefix}/d/{name}"}
    assert list(folder.versions("d", ".json")) == [name]
    assert folder.read_all("d", [name]) == {name: b"1"}
    folder.delete(f"d/{name}")
    assert keys(bucket) == set()


def test_missing_credentials_are_one_clear_line(server: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ENDPOINT_URL_S3", server)
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ReportError, match=r"^cannot write s3://reports/daily/a\.html: Unable to locate credentials; "):
        Folder(FOLDER).write("a.html", b"")


def test_the_library_that_is_missing_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.setitem(sys.modules, "boto3", None)
    with pytest.raises(ReportError, match=r"cannot open s3://.*: S3 needs boto3: pip install 'tsaudit\[s3\]'"):
        report.write(sample.the_result(), None, sample.empty_timeline(), (), config.Report(folder=FOLDER))


def test_an_address_without_a_bucket_is_one_clear_line() -> None:
    with pytest.raises(ReportError, match=r"cannot open s3://.*needs a bucket"):
        Folder("s3:///daily")
