from __future__ import annotations

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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as opened:
        yield opened


@pytest.fixture
def history(store: Store, slack: SlackDouble) -> History:
    """With a bot token."""
    return History(store, builders.with_token(slack))
