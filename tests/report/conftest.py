"""Reports to show a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.report import html


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rich sample, one target that is fine, one that could not be audited, and a page with plans."""
    folder = tmp_path_factory.mktemp("reports")
    settings = config.Report(folder=str(folder))
    sample.write_rich(settings)
    report.write(sample.unreachable(), None, sample.the_timeline(), (), settings)
    report.write(sample.fine(), sample.the_profile(gaps=(), target="fine"), sample.empty_timeline(), (), settings)
    sample.index_of(settings)
    folder.joinpath("eight.html").write_text(html.page(sample.eight()))
    return folder
