"""`tsaudit guidelines`: the schema guidelines behind the rules, and how many of them are checked."""

from __future__ import annotations

import click

from tsaudit.cli import options, show


@click.command()
@options.format_option("text", "markdown", "json")
def guidelines(form: str) -> None:
    """Print the guidelines, with the rules that check them."""
    from tsaudit import guidelines as texts
    from tsaudit.cli.rule_texts import rule_texts

    rules = rule_texts()
    if form == "json":
        click.echo(texts.as_json(rules))
    elif form == "markdown":
        click.echo(texts.markdown(rules))
    else:
        show.table(
            [(row.guideline.id, row.guideline.title, ", ".join(row.rules) or "-") for row in texts.status(rules)],
            ("id", "guideline", "rules"),
        )
