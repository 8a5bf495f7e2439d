"""Headlines: at most 25 words, whatever the message, with place, cause, and start where they fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_finding
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding
from tsaudit.text.findings import MOST_CHARACTERS, MOST_WORDS, headline, shortened

TABLE = Subject("main", "requests")
SINCE = date(2026, 3, 1)


def a(message: str, **changes: object) -> Finding:
    return a_finding(TABLE, message=message, **changes)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (a("16 tags, more than 15."), "main/requests: 16 tags, more than 15"),
        (a("host is both a tag and a field of requests."), "host is both a tag and a field of requests"),
        (a_finding(Subject(), message="5 databases are alike."), "5 databases are alike"),
        (
            a("Too many series.", main_contributor="pod", share=0.97),
            "main/requests: Too many series, main contributor pod (97%)",
        ),
        (a("Too many series.", since=SINCE), "main/requests: Too many series, since 2026-03-01"),
        (a("Series grew since 2026-03-01.", since=SINCE), "main/requests: Series grew since 2026-03-01"),
        # A name that needs quotes is not a contributor: it has no share.
        (a("2 names need quotes.", main_contributor="group", share=None), "main/requests: 2 names need quotes"),
        (a("A long summary.", headline="Rows are lost"), "main/requests: Rows are lost"),
        # Of databases alike, each has one.
        (a_finding(Subject("shop"), message="Policy autogen keeps all."), "shop: Policy autogen keeps all"),
        (a_finding(Subject("shop"), message="All of shop is unread."), "All of shop is unread"),
        # Another policy may have the same measurement.
        (a_finding(Subject("main/raw", "disk"), message="disk is full."), "main/raw/disk: disk is full"),
        (a_finding(Subject("main/raw", "disk"), message="disk in raw is full."), "disk in raw is full"),
    ],
)
def test_headline_when_all_of_it_fits(finding: Finding, expected: str) -> None:
    assert headline(finding) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two three four. Five six seven eight nine.", "One two three four"),
        ("One two three four; five six; seven eight nine.", "One two three four; five six"),
        # A remark in parentheses contains no end of a clause that counts once it is left out.
        ("One two three (four; five six seven; eight) nine", "One two three nine"),
        ("One two three four five, six seven eight nine ten", "One two three four five"),
        ("One: two three four five six seven eight nine ten", "One: two three four five six …"),
        ("One two three four five six seven eight nine ten", "One two three four five six …"),
        ("One two three four five six seven", "One two three four five six seven"),
    ],
)
def test_text_is_cut_where_a_clause_ends(text: str, expected: str) -> None:
    assert shortened(text, 7) == expected


WORDS = st.lists(st.sampled_from(["a", "bb", "x,", "y;", "z.", "(q", "r)", "w:", "0.5", "a_b"]), max_size=80)


@given(
    words=WORDS,
    name=st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=400),
    main_contributor=st.none() | st.text(min_size=1, max_size=300),
)
def test_headline_when_anything_is_said_is_short_and_one_line(
    words: list[str], name: str, main_contributor: str | None
) -> None:
    finding = replace(
        a(" ".join(words)), subject=Subject("d", name), main_contributor=main_contributor, share=0.5, since=SINCE
    )
    shown = headline(finding)
    assert len(shown) <= MOST_CHARACTERS
    own = len(name.split()) + len((main_contributor or "")[:60].split())
    assert len(shown.split()) <= MOST_WORDS + own
