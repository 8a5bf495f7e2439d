"""A headless Chromium for the report's tests, and reports to show it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.report import sample
from tsaudit import config, report

ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium from Debian; without it the tests are skipped, in CI they fail."""
    path = shutil.which("chromium")
    if path is None:
        reason = "chromium is not installed (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rich sample, one target that is fine and one that could not be audited."""
    folder = tmp_path_factory.mktemp("reports")
    settings = config.Report(folder=str(folder))
    sample.write_rich(settings)
    report.write(sample.unreachable(), None, sample.the_timeline(), (), settings)
    report.write(sample.fine(), sample.the_profile(gaps=(), target="fine"), sample.empty_timeline(), (), settings)
    return folder
