"""Text from databases is shown in Markdown, never rendered."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from tsaudit.text.markdown import escape


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


def test_other_text_stays_as_it_is() -> None:
    assert escape("cpu usage, 5:30, wwwroot") == "cpu usage, 5:30, wwwroot"
