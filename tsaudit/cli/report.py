"""`tsaudit report`: rewrite a report from the history."""

from __future__ import annotations

from datetime import date

import click

from tsaudit.cli import options, show, stored


@click.command()
@click.argument("target")
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
def report(target: str, config: str | None, day: date | None) -> None:
    """Rewrite a report from the history.

    Use it, for example, after you moved the report folder. Incidents are shown as they were on that day.
    """
    settings = options.load_settings(config, "history", "report")

    from tsaudit import report as reports

    with options.open_store(settings) as store:
        written = reports.rewrite(store, settings, stored.result_of(store, target, day))
        reports.write_index(settings.report, store)
    show.line(written.url)
