"""The `tsaudit` command, called in the tests' own process."""

from __future__ import annotations

import inspect

from click import testing


class CliRunner(testing.CliRunner):
    """Keeps what goes to stderr apart, as click does by itself since 8.2."""

    def __init__(self) -> None:
        apart = {"mix_stderr": False} if "mix_stderr" in inspect.signature(testing.CliRunner).parameters else {}
        super().__init__(**apart)
