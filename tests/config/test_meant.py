"""What a value in the form of another program means in that of tsaudit.yaml; nothing if that is not clear."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tsaudit.config import meant

MEANT: dict[Callable[[str], str], dict[str, str]] = {
    meant.duration: {
        "7 days": "7d",
        "1 hour": "1h",
        "12 Hours": "12h",
        "3mo": "90d",
        "1 year": "365d",
        "P2W": "2w",
        "PT90S": "90s",
        "1M": "",
        "7 dogs": "",
        "a week": "",
        "-7d": "",
    },
    meant.size: {
        "16gb": "16GB",
        "1.5 G": "1500MB",
        "2 GiB": "2147MB",
        "10 kilobytes": "",
        "0.5": "0B",
        "100 kbytes": "100kB",
    },
    meant.schedule: {
        "06:30": "30 6 * * *",
        "6 am": "0 6 * * *",
        "12am": "0 0 * * *",
        "11:15 p.m.": "15 23 * * *",
        "Daily": '"@daily"',
        "0 0 6 ? * *": "0 6 * * *",
        "5 0 6 * * *": "",
        "25:00": "",
        "6": "",
    },
    meant.name: {"plant north!": "plant-north", "***": ""},
    meant.web_address: {"reports.example.com/x": "https://reports.example.com/x", "ftp://x": "", "a b": ""},
}


@pytest.mark.parametrize("form", MEANT, ids=lambda form: form.__name__)
def test_text_in_another_form(form: Callable[[str], str]) -> None:
    assert {text: form(text) for text in MEANT[form]} == MEANT[form]


def test_number_in_another_form() -> None:
    def found(text: str, key: str = "max_rows", *, share: bool = False, whole: bool = True) -> str:
        return meant.number(text, key, share=share, whole=whole)

    assert [found(text) for text in ("100,000", "1'000'000", "500k", "1.5M", "1.5", "many")] == [
        "100000",
        "1000000",
        "500000",
        "1500000",
        "",
        "",
    ]
    assert [found(text, share=True, whole=False) for text in ("80%", "2.5 %", "0,8")] == ["0.8", "0.025", "0.8"]
    assert [found("30m", "deadline_s"), found("2w", "keep_days"), found("12h", "keep_days")] == ["1800", "14", ""]
