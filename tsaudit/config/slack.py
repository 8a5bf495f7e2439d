"""`slack:` in tsaudit.yaml: how alerts are sent, and what reactions on them do."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from tsaudit.config.base import Model
from tsaudit.config.types import Duration, Finite, Reaction, SlackSecret, web_address


class Reactions(Model):
    """What reactions on a message in Slack do. Needs a bot token with the scope `reactions:read`."""

    read: bool = True
    """Whether each audit reads reactions."""
    ack: Reaction = "eyes"
    """The reaction that acknowledges the open incidents of a message; "" for none."""
    mute: Reaction = "zzz"
    """The reaction that mutes the open incidents of a message; "" for none."""
    mute_for: Duration = timedelta(days=7)
    """How long a reaction mutes incidents."""
    most_asked: int = Field(50, ge=1, le=1000)
    """Maximum number of messages whose reactions are read at a time; Slack allows about 50 such calls a minute."""

    @property
    def kinds(self) -> dict[str, str]:
        """Name of each reaction that has an effect to the effect: `ack` or `mute`."""
        return {name: kind for name, kind in ((self.ack, "ack"), (self.mute, "mute")) if name}

    @property
    def mute_days(self) -> int:
        """Number of days that a reaction mutes; part of a day counts as a day."""
        return -(-self.mute_for // timedelta(days=1))

    @model_validator(mode="after")
    def _different(self) -> Reactions:
        if self.ack and self.ack == self.mute:
            raise ValueError("ack and mute must be two different reactions")
        return self


class Slack(Model):
    """How alerts are sent to Slack. With neither token nor webhook, they are printed in the terminal and stored as "not
    sent".
    """

    token: SlackSecret | None = None
    """Bot token with `chat:write` (and `channels:history`, to check after a crash which messages arrived; and
    `reactions:read`, to act on reactions).
    """
    webhook: SlackSecret | None = None
    """Incoming webhook: cannot edit, reply in threads, or read messages, so a crash may duplicate a message."""
    digest_weekday: Literal[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "daily", "never"
    ] = "monday"
    """The day of the digest: a weekday, `daily`, or `never`. The digest is one message per owner with the incidents
    that are still open on all targets, if any. It is sent once all targets due on that day have been audited, on that
    day or not at all.
    """
    reactions: Reactions = Reactions()
    """What reactions on messages do."""
    base_url: str = "https://slack.com/api/"
    """Base URL of Slack's web API; change it for a proxy or a test."""
    deadline_s: Finite = Field(300, gt=0)
    """Time limit for sending in one run, in seconds, over all channels; the rest stays queued for the next run."""

    @field_validator("webhook")
    @classmethod
    def _address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("https://", "http://", "${")):
            raise ValueError("must start with https://, as shown by Slack")
        return value

    @field_validator("base_url")
    @classmethod
    def _folder(cls, value: str) -> str:
        return web_address(value).rstrip("/") + "/"

    @model_validator(mode="after")
    def _one_transport(self) -> Slack:
        if self.token and self.webhook:
            raise ValueError("set a token or a webhook, not both")
        return self
