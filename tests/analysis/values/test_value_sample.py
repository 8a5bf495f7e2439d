"""Hashes of texts, compared with the same calculation text by text."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.values.hashes import hashes

WORD = 2**64
MULTIPLIER = 0x9E3779B97F4A7C15
TEXTS = st.text(st.sampled_from("ab\x00é"), max_size=30)


def hash_of(text: str) -> int:
    data = text.encode()
    found = len(data) * MULTIPLIER % WORD
    for at in range(0, len(data), 8):
        found = (found ^ int.from_bytes(data[at : at + 8], "little")) * MULTIPLIER % WORD
        found ^= found >> 32
    found = (found ^ (found >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    found = (found ^ (found >> 27)) * 0x94D049BB133111EB % WORD
    return found ^ (found >> 31)


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(st.lists(TEXTS, max_size=20), st.integers(0, 5), st.integers(0, 20))
def test_a_hash_depends_on_the_text_alone(texts, start, size):
    part = pa.array(texts, pa.string()).slice(start, size)
    assert hashes(part).tolist() == [hash_of(text) for text in texts[start : start + size]]


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(st.integers(0, 26), st.integers(0, 20), st.integers(0, 5))
def test_texts_that_are_all_as_long_have_the_same_hashes(width, count, start):
    texts = [f"{i * 7919 % 10_007:0{width}}"[:width] for i in range(count)]
    assert hashes(pa.array(texts, pa.string()).slice(start)).tolist() == [hash_of(text) for text in texts[start:]]
