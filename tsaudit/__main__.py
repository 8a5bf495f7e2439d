"""`python -m tsaudit`."""

from __future__ import annotations

from tsaudit.cli import main

main(prog_name="tsaudit")
