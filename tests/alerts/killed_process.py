"""A process that sends, or reads reactions, and dies, as by a power cut, right before or after the n-th call of a step.

Arguments: `send` or `read`, history URL, base URL of Slack (or a webhook), `module:function` of the step or `none`,
`before` or `after`, n.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
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


if __name__ == "__main__":
    work, url, slack, step, moment, count = sys.argv[1:]
    if step != "none":
        die_at(step, moment, int(count))
    way = {"token": TOKEN, "base_url": slack} if slack.endswith("/api/") else {"webhook": slack}
    targets = [{"name": name, "engine": "duckdb", "url": "x"} for name in ("demo", *(f"t{n}" for n in range(8)))]
    settings = builders.settings(slack=way, targets=targets)
    with Store.open(url) as store:
        if work == "read":
            print(alerts.read_reactions(store, settings, builders.fast()))
        else:
            print(alerts.send(store, settings, print, builders.fast()))
