"""Text from databases is shown in Markdown, never rendered."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tsaudit.text.markdown import escape, prose


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/login",
        "HTTP://evil.example",
        "see www.evil.example",
        "[here](https://evil.example)",
        "<https://evil.example>",
        "mailto:someone@evil.example",
        "ftp://evil.example/x",
    ],
)
def test_an_address_is_no_link(text: str) -> None:
    page = MarkdownIt("gfm-like").render(escape(text))
    assert "<a" not in page
    assert "evil" in page


@given(st.text("`a *_<b>[c](d)@|\\x", max_size=40))
def test_prose_renders_nothing_but_code(text: str) -> None:
    page = MarkdownIt("gfm-like").render(prose(text))
    assert set(re.findall(r"<(\w+)", page)) <= {"p", "code"}


def test_prose_shows_commands_as_code() -> None:
    assert prose("4 roles *were* guessed: `tsaudit check a --roles`") == (
        r"4 roles \*were\* guessed: `tsaudit check a --roles`"
    )


def test_other_text_stays_as_it_is() -> None:
    assert escape("cpu usage, 5:30, wwwroot") == "cpu usage, 5:30, wwwroot"
