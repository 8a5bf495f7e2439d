"""Texts in several arrays, compared with lists of Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import text_pieces

EVEN = st.lists(st.sampled_from(["aa", "ab", "\x00b", "é"]), max_size=8)
TEXTS = st.lists(st.sampled_from(["", "a", "b", "aa", "ab", "é"]), max_size=8)
PIECES = st.lists(st.one_of(EVEN, TEXTS), max_size=5)


def arrays(pieces: list[list[str]]) -> list[pa.StringArray]:
    # Slices, so that no array begins where its buffers do.
    return [pa.array(["x", *piece, "yy"], pa.string()).slice(1, len(piece)) for piece in pieces]


@settings(deadline=None, max_examples=examples(200), print_blob=True)
@given(PIECES, st.data())
def test_some_are_chosen_or_taken_as_from_one_list(pieces, data):
    whole = [text for piece in pieces for text in piece]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))), np.bool_)
    wanted = [text for text, is_wanted in zip(whole, mask, strict=True) if is_wanted]
    assert text_pieces.length(arrays(pieces)) == len(whole)
    assert text_pieces.joined(arrays(pieces)).to_pylist() == whole
    assert text_pieces.joined(text_pieces.chosen(arrays(pieces), mask)).to_pylist() == wanted
    assert text_pieces.taken(arrays(pieces), np.flatnonzero(mask)).to_pylist() == wanted


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(PIECES, st.one_of(EVEN, TEXTS), st.data())
def test_texts_are_the_same_as_values_only_where_all_are(pieces, values, data):
    whole = [text for piece in pieces for text in piece]
    known = [*values, *whole]
    at = [data.draw(st.sampled_from([known.index(text), *range(len(known))][:2])) for text in whole]
    expected = [known[position] for position in at] == whole
    array = text_pieces.joined(arrays([known]))
    assert text_pieces.are_same(arrays(pieces), array, np.array(at, np.int64)) == expected
