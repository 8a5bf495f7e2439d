from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alerts import builders, slack_double
from tests.alerts.builders import History
from tests.alerts.slack_double import SlackDouble
from tsaudit.history.store import Store


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackDouble]:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with slack_double.running() as double:
        yield double


@pytest.fixture(scope="session")
def empty_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history just made; copied, because making one takes longer than most tests."""
    path = tmp_path_factory.mktemp("history") / "empty.db"
    Store.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def store(tmp_path: Path, empty_history: Path) -> Iterator[Store]:
    shutil.copy(empty_history, tmp_path / "history.db")
    with Store.open(f"sqlite:///{tmp_path}/history.db") as opened:
        yield opened


@pytest.fixture
def history(store: Store, slack: SlackDouble) -> History:
    """With a bot token."""
    return History(store, builders.with_token(slack))
