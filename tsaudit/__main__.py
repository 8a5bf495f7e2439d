"""`python -m tsaudit`."""

from __future__ import annotations

from tsaudit.cli import main

if __name__ == "__main__":
    main(prog_name="tsaudit")
