"""How to reach Slack with this configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsaudit import secrets
from tsaudit.alerts.pace import Budget
from tsaudit.alerts.slack import BotToken, Way, Webhook
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.net import addresses

if TYPE_CHECKING:
    from tsaudit.history.store import Store


def way_into_slack(store: Store, settings: Settings, budget: Budget) -> Way | None:
    """The bot token or the webhook; None if neither is set."""
    slack = settings.slack
    if slack.token is not None:
        ids = deliveries.known_channel_id
        token = slack.token.get_secret_value()
        secrets.remember(token)
        return BotToken(token, slack.base_url, lambda name: ids(store.engine, name), budget.call_s)
    if slack.webhook is not None:
        secrets.remember(addresses.secret_path(slack.webhook.get_secret_value()))
        return Webhook(slack.webhook.get_secret_value(), budget.call_s)
    return None
