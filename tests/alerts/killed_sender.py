"""A sender in a process of its own that dies, as by a power cut, right before or after the n-th call of a step.

Arguments: history URL, base URL of Slack (or a webhook), `claim` or `settle` or `none`, `before` or `after`, n.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from tests.alerts import builders
from tests.alerts.slack_double import TOKEN
from tsaudit import alerts
from tsaudit.history import deliveries
from tsaudit.history.store import Store


def die_at(step: str, moment: str, count: int) -> None:
    real, left = getattr(deliveries, step), [count]

    def deadly(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **named)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(deliveries, step, deadly)


if __name__ == "__main__":
    url, slack, step, moment, count = sys.argv[1:]
    if step != "none":
        die_at(step, moment, int(count))
    way = {"token": TOKEN, "base_url": slack} if slack.endswith("/api/") else {"webhook": slack}
    with Store.open(url) as store:
        report = alerts.send(store, builders.settings(slack=way), print, builders.fast())
    print(report)
