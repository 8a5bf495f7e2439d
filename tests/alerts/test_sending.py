from __future__ import annotations

from tests.alerts.builders import History, found
from tests.alerts.slack_double import SlackDouble


def test_alert_arrives(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    report = history.send()
    assert (report.sent, report.errors, report.waiting) == (1, (), 0)
    assert "Table 1 is bad." in slack.texts("C0DEFAULT")[0]
    for b in slack.messages[0].blocks: print(b)
