"""Which of the installed versions of PostgreSQL the tests start."""

from __future__ import annotations

import pytest

from tests.postgresql_programs import choose, installed
from tests.servers import missing


@pytest.mark.parametrize(("wanted", "major"), [("newest", 18), ("oldest", 15), ("16", 16)])
def test_choose_when_it_is_installed(wanted: str, major: int) -> None:
    assert choose((16, 18, 15), wanted) == major


@pytest.mark.parametrize(("majors", "wanted"), [((15, 18), "16"), ((), "newest"), ((18,), "old")])
def test_choose_when_it_is_not_installed(majors: tuple[int, ...], wanted: str) -> None:
    with pytest.raises(LookupError, match=f"want PostgreSQL {wanted}"):
        choose(majors, wanted)


def test_two_versions_are_installed() -> None:
    """`make test` runs the live tests on the oldest and on the newest."""
    if len(installed()) < 2:
        missing(f"PostgreSQL {min(installed(), default='')} alone is installed (Debian package postgresql)")
