"""A process that sends, or reads reactions, and dies, as by a power cut, at the n-th call of a step."""

from __future__ import annotations

import importlib
import os
import signal
from typing import Any

from tests.alerts import builders
from tests.alerts.slack_double import TOKEN
from tsaudit import alerts
from tsaudit.history.store import Store


def die_at(step: str, moment: str, count: int) -> None:
    module, name = step.split(":")
    where = importlib.import_module(module)
    real, left = getattr(where, name), [count]

    def deadly(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **named)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(where, name, deadly)


def run(url: str, slack: str, step: str, moment: str, count: int, work: str) -> None:
    """`slack`: base URL, or a webhook. `step`: `module:function`, or `none`; `moment`: `before` or `after` it. `work`:
    `send` or `read`.
    """
    if step != "none":
        die_at(step, moment, count)
    way = {"token": TOKEN, "base_url": slack} if slack.endswith("/api/") else {"webhook": slack}
    targets = [{"name": name, "engine": "duckdb", "url": "x"} for name in ("demo", *(f"t{n}" for n in range(8)))]
    settings = builders.settings(slack=way, targets=targets)
    with Store.open(url) as store:
        if work == "read":
            print(alerts.read_reactions(store, settings, builders.fast()))
        else:
            print(alerts.send(store, settings, print, builders.fast()))
