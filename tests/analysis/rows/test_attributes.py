"""The tag that tells whether a value is a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.rows.column_groups import Split, split_by

DEVICES, ROWS = 6, 600


def rows(attributes: int, texts: int, exceptions: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Each device has all attributes; the values of the last `texts` of them are texts, but for some exceptions."""
    at = np.arange(ROWS)
    codes = {"device": at // attributes % DEVICES, "attribute": at % attributes}
    is_number = codes["attribute"] < attributes - texts
    is_number[:exceptions] ^= True
    return codes, is_number, np.ones(ROWS, bool)


@given(st.integers(2, 20), st.data())
def test_attribute_is_found_among_the_tags(attributes: int, data: st.DataObject) -> None:
    texts = data.draw(st.integers(1, attributes - 1))
    found = split_by(*rows(attributes, texts))
    assert found == Split("attribute", tuple(range(attributes - texts)), tuple(range(attributes - texts, attributes)))


@pytest.mark.parametrize(("exceptions", "is_found"), [(0, True), (10, True), (200, False)])
def test_few_exceptions_are_forgiven(exceptions: int, is_found: bool) -> None:
    assert (split_by(*rows(5, 1, exceptions)) is not None) == is_found


def test_names_of_things_are_no_attributes() -> None:
    at = np.arange(ROWS)
    entity, area = at % 30, at % 30 // 10
    is_number = entity < 20
    assert split_by({"entity": entity}, is_number, np.ones(ROWS, bool)) is None
    assert split_by({"entity": entity, "area": area}, is_number, np.ones(ROWS, bool)) is None


def test_rows_without_a_text_do_not_count() -> None:
    codes, is_number, known = rows(4, 1)
    known[codes["attribute"] == 3] = False
    assert split_by(codes, is_number, known) is None
    assert split_by(codes, is_number, np.zeros(ROWS, bool)) is None


def test_text_that_repeats_what_the_row_says_does_not_hide_the_attribute() -> None:
    codes, is_number, known = rows(4, 1)
    found = split_by(codes | {"event": np.arange(ROWS)}, is_number, known)
    assert found is not None
    assert found.tag == "attribute"
