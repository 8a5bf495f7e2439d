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

    For example, after you moved the report folder. Incidents are shown as they were on that day.
    """
    settings = options.load_settings(config)

    from tsaudit import report as reports
    from tsaudit.history import clock, incidents

    with options.open_store(settings) as store:
        result = stored.result_of(store, target, day)
        chosen, days = result.day, store.days(target)
        before = [d for d in days if d < chosen]
        written = reports.write(
            result,
            store.profile(target, chosen),
            store.timeline(target, before=chosen),
            incidents.current(store, target, day=chosen),
            settings.report,
            previous=store.result(target, before[-1]) if before else None,
            warning=clock.future_days_warning(target, days) or "",
            owner=next((one.owner or "" for one in settings.targets if one.name == target), ""),
        )
        reports.write_index(settings.report, store)
    show.line(written.url)
