"""`tsaudit guidelines`: what the rules stand for, printed from their own texts."""

from __future__ import annotations

import click

from tsaudit.cli import options


@click.command()
@options.format_option("text", "markdown", "json")
def guidelines(form: str) -> None:
    """Print the guidelines that the rules check, with the rules of each."""
    from tsaudit import guidelines as texts

    click.echo(texts.render(form))
