"""YAML with lines: the same tree as the library's own reading of it, and each key where it stands."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.config.yaml_document import DocumentError, Node, parse

# PyYAML writes some line breaks so that they come back as others.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=6),
    st.sampled_from(["~", "null", "no", "1e6", "007", "<<", "*a", "&a", "!!x", "a: b", "- a"]),
)
TREES = st.recursive(
    st.none() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
LIMITED = settings(deadline=None, max_examples=examples(60))


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    return [plain(child) for child in node.value] if isinstance(node.value, list) else node.value


@LIMITED
@given(st.dictionaries(TEXTS, TREES, max_size=5), st.booleans(), st.booleans())
def test_what_was_dumped_is_read(data: dict[str, Any], twice: bool, flow: bool) -> None:
    """A value that stands there twice becomes an anchor and an alias, and is read at both places."""
    data = {"once": data, "again": data} if twice else data
    document = parse(yaml.safe_dump(data, allow_unicode=True, default_flow_style=flow, sort_keys=False))
    assert plain(document.root) == data
    assert document.problems == []


@LIMITED
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_each_key_has_the_line_where_it_stands(depths: list[int]) -> None:
    text, path, expected = "", [], {}
    for number, wanted in enumerate(depths, 1):
        path = [*path[: min(wanted, len(path))], f"k{number}"]
        text += f"{'  ' * (len(path) - 1)}k{number}:\n"
        expected[tuple(path)] = number
    document = parse(text)
    assert {path: document.line(path) for path in expected} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# nothing\n", {}),
        ("---\na: 1\n...\n", {"a": "1"}),
        ("a: no\nb: 007\nc: 1e6\nd: 2026-01-05\n", {"a": "no", "b": "007", "c": "1e6", "d": "2026-01-05"}),
        ("a:\nb: ~\nc: NULL\nd: 'null'\ne: !!null ''\n", dict.fromkeys("abc") | {"d": "null", "e": None}),
        (
            "a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x, m: 4}\n",
            {"a": {"k": "1", "l": "2"}, "b": {"l": "3", "m": "4", "k": "1"}},
        ),
        (
            "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y]}\n",
            {"a": {"k": "1"}, "b": {"k": "2", "l": "2"}, "c": {"k": "1", "l": "2"}},
        ),
        ("a: {'<<': {k: 1}}\n", {"a": {"<<": {"k": "1"}}}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": "1", "b": "2", "c": "2"}),
        ("a: &x\n  - &x 1\n  - *x\nb: *x\n", {"a": ["1", "1"], "b": "1"}),
        ("&x a: *x\n", {"a": "a"}),
    ],
)
def test_text_reads_as(text: str, expected: Any) -> None:
    """Keys that `<<` brings in come last; an alias is the last value that had its anchor."""
    document = parse(text)
    assert plain(document.root) == expected
    assert list(expected) == list(document.root.value or ())
    assert document.problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\n? {}\n: x\n", (2, "a key must be a single text")),
        ("a: 1\n? [b]\n: x\n", (2, "a key must be a single text")),
        ("~: 1\nnull: 2\n", (2, "`` is defined twice, first on line 1")),
        ("a: &x {k: 1}\nb:\n  <<: [*x, 3]\n", (3, "`<<` takes `key: value` lines")),
        ("a: 1\nb: !!int 3\n", (2, "text that begins with one of")),
    ],
)
def test_problem_that_leaves_the_rest_readable(text: str, problem: tuple[int, str]) -> None:
    ((line, what),) = parse(text).problems
    assert (line, what[: len(problem[1])]) == problem


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_has_a_limit_that_spares_the_process(opening: str) -> None:
    with pytest.raises(DocumentError, match="nested more than 40 levels deep"):
        parse(opening * 5_000)
    closing = {"[": "]", "{a: ": "}"}.get(opening, "")
    assert parse(opening * 40 + "x" + closing * 40).root.value is not None


def test_aliases_that_multiply_are_built_once() -> None:
    """2^60 texts, were each alias a value of its own; as merge keys, too."""
    lists = "".join(f"l{i}: &l{i} [*l{i - 1}, *l{i - 1}]\n" for i in range(1, 60))
    merged = "".join(f"m{i}: &m{i} {{<<: [*m{i - 1}, *m{i - 1}], k{i}: x}}\n" for i in range(1, 60))
    document = parse(f"l0: &l0 [x]\nm0: &m0 {{k0: x}}\n{lists}{merged}")
    assert document.problems == []
    last = document.root.child("m59")
    assert last is not None
    assert isinstance(last.value, dict)
    assert len(last.value) == 60
