"""`tsaudit metrics`: the last audits for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from tsaudit.cli import options


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
