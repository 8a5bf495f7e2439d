"""A headless Chromium for tests of what people see."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.servers import missing

_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium from Debian; without it the tests are skipped, in CI they fail.

    One for each module: while it runs, its event loop lets no other one begin.
    """
    path = shutil.which("chromium")
    if path is None:
        missing("chromium is not there; `make servers` installs it")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield found
        found.close()
