"""Uses the sink of another package: finds it, creates it, and calls it with a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from tsaudit import plugins
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.sink import Notice, Sink, SinkError
from tsaudit.alerts.slack import Place
from tsaudit.alerts.slack_client import CallTime
from tsaudit.alerts.slack_errors import BrokenOffError, GoneError, LookUpError, RefusedError, SetupError
from tsaudit.alerts.terminal import readable
from tsaudit.history.deliveries import Delivery, split_thread
from tsaudit.net.watchdog import OutOfTimeError, within

_LONGEST_S: Final = 10.0
"""Time limit of one call: the other sinks wait meanwhile."""


def make(name: str, settings: Mapping[str, SecretStr]) -> Sink:
    """The sink with that name. SetupError with one line if no package provides a usable one."""
    loaded, problems = plugins.load(plugins.SINKS)
    for problem in problems:
        if problem.name == name:
            raise SetupError(str(problem), code="", everywhere=True)
    one = next((found for found in loaded if found.name == name), None)
    if one is None:
        raise SetupError(f"no installed package brings the sink `{name}`", code="", everywhere=True)
    try:
        if not callable(one.value):
            raise TypeError(f"expected a class or function, got {type(one.value).__name__}")
        sink = one.value({key: value.get_secret_value() for key, value in settings.items()})
        if not isinstance(sink, Sink):
            raise TypeError(f"{type(sink).__name__} has no method `send`")
    except (Exception, SystemExit) as error:
        line = f"the sink `{name}` of {one.package} cannot be set up: {_said(error)}; check `sinks.{name}`"
        raise SetupError(line, code="", everywhere=True) from error
    return sink


class SinkWay:
    """Passes one message to a sink, which can neither edit messages nor read them back."""

    edits = False

    def __init__(self, sink: Sink, delivery: Delivery, call_s: CallTime) -> None:
        self._sink = sink
        self._delivery = delivery
        self._call_s = call_s

    def post(self, identity: str, _place: Place, message: Message, _as_text: bool, /) -> Place:
        notice, name = _notice(self._delivery, identity, message), self._delivery.sink
        limit = min(_LONGEST_S, self._call_s())
        try:
            within(limit, lambda: self._sink.send(notice, limit))
        except OutOfTimeError as error:
            line = f"the sink `{name}` did not respond within {limit:g} s"
            raise BrokenOffError(line, stored=True, late=True) from error
        except SinkError as error:
            line = f"{name}: {error}"
            raise (RefusedError(line) if error.refused else BrokenOffError(line, stored=False)) from error
        except (Exception, SystemExit) as error:
            raise SetupError(f"the sink `{name}` failed: {plugins.why(error)}", code="", everywhere=True) from error
        return Place("")

    def edit(self, _identity: str, _place: Place, _message: Message, _as_text: bool, /) -> None:
        raise GoneError("a sink cannot edit")

    def look_up(self, _identity: str, _place: Place, _since: datetime, /) -> Place | None:
        raise LookUpError("a sink cannot be read back")


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, SinkError) else plugins.why(error)


def _notice(delivery: Delivery, identity: str, message: Message) -> Notice:
    owner, target = split_thread(delivery.thread)
    text = readable(message)
    return Notice(
        id=identity,
        kind=str(delivery.kind),
        owner=owner,
        target=target,
        day=delivery.day,
        title=text.partition("\n")[0],
        text=text,
        severities=dict(message.about),
    )
