"""`tsaudit report` and `metrics`: a report, and metrics for Prometheus, from the history."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from tsaudit.cli import options, show


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
        written = reports.rewrite(store, settings, options.result_of(store, target, day))
        reports.write_index(settings.report, store)
    show.line(written.url)


@click.command()
@options.targets_argument
@options.config_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to replace, *.prom in the folder of node_exporter's textfile collector; default: stdout.",
)
def metrics(targets: tuple[str, ...], config: str | None, output: Path | None) -> None:
    """Write the last audits as metrics for Prometheus.

    The metrics are read from the history; no database is queried. The format is valid for Prometheus and OpenMetrics.
    The file is replaced atomically, and everybody may read it, because node_exporter runs as a user of its own.
    """
    settings = options.load_settings(config, "history")
    chosen = options.chosen(settings, targets)
    file = output and output.resolve()
    if file and file.exists() and not file.is_file():
        raise click.BadParameter(f"{output} is not a file; leave it out for stdout", param_hint="--output")

    from tsaudit.report import metrics as metrics_of
    from tsaudit.report.storage import LocalStorage

    with options.open_store(settings) as store:
        seconds = store.seconds()
        found = [
            sample
            for one in chosen
            for sample in metrics_of.samples(
                one.name, one.engine, metrics_of.last_audit(store, one.name, seconds.get(one.name))
            )
        ]
    text = metrics_of.text(found)
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        LocalStorage(str(file.parent), 0o644).write(file.name, text.encode())
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
