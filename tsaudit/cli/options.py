"""Options and arguments that several commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings, Target
    from tsaudit.history.store import Store

F = TypeVar("F", bound=Callable[..., Any])

DAY_FORMAT = "YYYY-MM-DD"


class Day(click.ParamType[date]):
    """A day, written 2026-03-31, or `today` or `yesterday` (in UTC)."""

    name = "day"

    def __init__(self, *, may_be_ahead: bool = False) -> None:
        """`may_be_ahead`: whether it may be a day still to come, as a wrong clock leaves them in the history."""
        self._may_be_ahead = may_be_ahead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        now = today()
        if value in ("today", "yesterday"):
            return now if value == "today" else now - timedelta(days=1)
        try:
            day = date.fromisoformat(value)
        except ValueError:
            self.fail(f"`{value}` is no day; write {DAY_FORMAT}, today or yesterday", param, ctx)
        if day > now and not self._may_be_ahead:
            # Its rows are not written yet, and its incidents nobody would hear of before it comes.
            self.fail(f"{day} is still to come; in UTC it is {now}", param, ctx)
        return day


class Until(click.ParamType[date]):
    """A day to come, written as a date or as a number of days or weeks from today: `7d`, `2w`."""

    name = "until"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        now = today()
        number, unit = value[:-1], value[-1:]
        try:
            if unit in ("d", "w") and number.isascii() and number.isdigit():
                until = now + timedelta(days=int(number) * (7 if unit == "w" else 1))
            else:
                until = date.fromisoformat(value)
        except (ValueError, OverflowError):
            self.fail(f"`{value}` is no day; write {DAY_FORMAT}, 7d or 2w", param, ctx)
        if until < now:
            self.fail(f"{until} is past", param, ctx)
        return until


def config_option(command: F) -> F:
    """--config: which file to read."""
    return click.option(
        "-c",
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="The configuration; default: $TSAUDIT_CONFIG, else ./tsaudit.yaml.",
    )(command)


def targets_argument(command: F) -> F:
    """Names of targets; none stands for all."""
    return click.argument("targets", nargs=-1, metavar="[TARGET]...")(command)


def day_option(help_text: str) -> Callable[[F], F]:
    """--day, by default today."""
    return click.option("--day", type=Day(), metavar="DAY", default=None, help=help_text)


def format_option(*formats: str) -> Callable[[F], F]:
    """--format; the first is the default."""
    choice = click.Choice(formats)
    return click.option("--format", "form", type=choice, default=formats[0], show_default=True, help="How to print.")


def today() -> date:
    """The logical day it is now: in UTC, like every other instant in tsaudit."""
    from tsaudit.model.profile import utc_now

    return utc_now().date()


def load_settings(config: str | None) -> Settings:
    """The configuration. Raises ConfigError."""
    from tsaudit.config import file as config_file

    return config_file.load(config_file.find(config))


def chosen(settings: Settings, names: Sequence[str]) -> list[Target]:
    """The named targets in the order of the file; all for no names. A name that is not there is a usage error."""
    from tsaudit.text import nearest

    known = [t.name for t in settings.targets]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; the configuration has {', '.join(known[:10])}"
            raise click.BadParameter(f"no target is named `{name}`{hint}", param_hint="TARGET")
    return [t for t in settings.targets if not names or t.name in names]


def open_store(settings: Settings) -> Store:
    """The history, to be closed by leaving its context. Raises HistoryError."""
    from tsaudit.history.store import Store

    return Store.open(settings.history.get_secret_value())
