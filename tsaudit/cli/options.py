"""Options and arguments that several commands share, and how they are parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tsaudit.text import listed

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.model.finding import AuditResult

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings, Target
    from tsaudit.history.store import Store

    _DateType = click.ParamType[date]
else:
    # Before 8.4, click's types take no parameter.
    _DateType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])

DAY_FORMAT = "YYYY-MM-DD"


class Day(_DateType):
    """A day, written 2026-03-31, or `today` or `yesterday` (in UTC)."""

    name = "day"

    def __init__(self, *, may_be_ahead: bool = False) -> None:
        """`may_be_ahead`: whether a day in the future is valid, for example one in the history that was caused by a
        wrong clock.
        """
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
            self.fail(f"`{value}` is not a day; write {DAY_FORMAT}, today, or yesterday", param, ctx)
        from tsaudit.model.figures import ahead

        if not self._may_be_ahead and (problem := ahead(day)):
            # Nobody would be notified about its incidents before that day.
            self.fail(problem, param, ctx)
        return day


class PeriodParam(_DateType):
    """A number of days or weeks from today, such as `7d` or `2w`, converted to its last day."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        written = re.fullmatch("([0-9]{1,4})([dw])", value)
        if written is None:
            self.fail(f"`{value}` is not a period of days or weeks; write 7d or 2w", param, ctx)
        return today() + timedelta(days=int(written[1]) * (7 if written[2] == "w" else 1))


def page(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A click callback that checks the address of a web page."""
    del ctx
    from tsaudit.secrets import page_url

    try:
        return None if value is None else page_url(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param=param) from error


def config_option(command: F) -> F:
    """Adds --config: the file to read."""
    return click.option(
        "-c",
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="The configuration file; default: $TSAUDIT_CONFIG, or ./tsaudit.yaml.",
    )(command)


def targets_argument(command: F) -> F:
    """Adds the argument for names of targets; none means all."""
    return click.argument("targets", nargs=-1, metavar="[TARGET]...")(command)


def day_option(help_text: str) -> Callable[[F], F]:
    """Adds --day with the help text."""
    return click.option("--day", type=Day(), metavar="DAY", default=None, help=help_text)


def format_option(*formats: str) -> Callable[[F], F]:
    """Adds --format; the first format is the default."""
    choice = click.Choice(formats)
    return click.option("--format", "form", type=choice, default=formats[0], show_default=True, help="Output format.")


def today() -> date:
    """Today in UTC, like every other time in tsaudit."""
    from tsaudit.model.figures import utc_now

    return utc_now().date()


def load_settings(config: str | None, *needs: str) -> Settings:
    """The configuration. Raises ConfigError.

    `needs`: the top-level keys whose secrets the command uses, such as `history`; none for all. The command then also
    works in a shell or cron job where other variables are not set.
    """
    from tsaudit.config import file as config_file

    return config_file.load(config_file.find(config), needs=needs or None)


def chosen(settings: Settings, names: Sequence[str]) -> list[Target]:
    """The named targets in the order of the file; without names, all targets. Raises a usage error for an
    unknown name.
    """
    from tsaudit.config import mistakes

    known = dict.fromkeys(t.name for t in settings.targets)
    for name in names:
        if name not in known:
            raise click.BadParameter(mistakes.no_target(name, known), param_hint="TARGET")
    wanted = frozenset(names)
    return [t for t in settings.targets if not wanted or t.name in wanted]


def one_target(settings: Settings, name: str | None) -> str:
    """The name; without one, that of the only target. Raises a usage error if there are several."""
    if name is not None:
        return name
    known = [target.name for target in settings.targets]
    if len(known) > 1:
        raise click.UsageError(f"name a target: {listed(known, last='or')}")
    return known[0]


def open_store(settings: Settings) -> Store:
    """The history, as a context manager that closes it. Raises HistoryError."""
    from tsaudit.history.store import Store

    return Store.open(settings.history.get_secret_value())


def audited(store: Store, names: Sequence[str], hint: str = "TARGET") -> Sequence[str]:
    """The named targets; without names, all targets in the history. Raises a usage error for a target without audits.
    `hint`: the argument or option that has the names.
    """
    known = store.targets()
    for name in names:
        if name not in known:
            raise click.BadParameter(f"`{name}` was never audited", param_hint=hint)
    return names or known


def result_of(store: Store, target: str, day: date | None) -> AuditResult:
    """The result of the day; None for the newest day that is not in the future. Raises a usage error if
    there is none.
    """
    days = store.days(target)
    if not days:
        raise click.BadParameter(f"`{target}` was never audited", param_hint="TARGET")
    chosen = day or (store.past_days(target) or days)[-1]
    found = store.result(target, chosen)
    if found is not None:
        return found
    if chosen in days:
        raise click.BadParameter(f"the data stored for {chosen} was written by another version", param_hint="--day")
    near = min(days, key=lambda d: abs(d - chosen))
    raise click.BadParameter(f"{target} was not audited on {chosen}; the nearest day is {near}", param_hint="--day")
