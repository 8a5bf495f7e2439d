"""The drawing of tags that follow from others: all that is told, nothing twice, in any graph."""

from __future__ import annotations

from itertools import product
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.report import sample
from tsaudit.model.columns import Dependency
from tsaudit.report import charts as graph

PAIRS = st.sets(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), min_size=1, max_size=20).map(
    lambda pairs: {(a, b) for a, b in pairs if a != b}
)


def drawn(*pairs: tuple[str, str]) -> ElementTree.Element:
    return ElementTree.fromstring(graph.dependency_graph([Dependency(*pair) for pair in pairs], 1))


def reachable(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """By walking, as the drawing's reader does."""
    found = set(pairs)
    while more := {(a, d) for (a, b), (c, d) in product(found, found) if b == c} - found:
        found |= more
    return found


@given(PAIRS)
@settings(deadline=None, max_examples=examples(200))
def test_arrows_lead_wherever_the_pairs_do_and_are_the_fewest(pairs: set[tuple[str, str]]) -> None:
    boxes, arrows = graph.condensed(pairs)
    assert sorted(tag for box in boxes for tag in box) == sorted({tag for pair in pairs for tag in pair})
    inside = {(a, b) for box in boxes for a, b in product(box, box) if a != b}
    walked = reachable({(a, b) for one, other in arrows for a, b in product(one, other)} | inside)
    assert {(a, b) for a, b in walked if a != b} == {(a, b) for a, b in reachable(pairs) if a != b}
    for arrow in arrows:
        fewer = reachable({(a, b) for one, other in arrows if (one, other) != arrow for a, b in product(one, other)})
        assert (arrow[0][0], arrow[1][0]) not in fewer


@given(PAIRS.filter(bool))
@settings(deadline=None, max_examples=examples(100))
def test_boxes_stand_right_of_what_leads_to_them_inside_the_picture_and_apart(pairs: set[tuple[str, str]]) -> None:
    boxes, arrows = graph.condensed(pairs)
    level = {box: i for i, column in enumerate(graph.layers(boxes, arrows)) for box in column}
    assert level.keys() == set(boxes)
    assert all(level[a] < level[b] for a, b in arrows)
    root = drawn(*sorted(pairs))
    frames = [tuple(float(e.get(k) or 0) for k in ("x", "y", "width", "height")) for e in root.iter("rect")]
    assert len(frames) == len(boxes)
    for x, y, width, height in frames:
        assert 0 < x < x + width < float(root.get("width") or 0)
        assert 0 < y < y + height < float(root.get("height") or 0)
    overlaps = [f for f, g in product(frames, frames) if f is not g and f[0] == g[0] and abs(f[1] - g[1]) < f[3]]
    assert overlaps == []


def test_description_says_what_is_drawn() -> None:
    root = drawn(("host", "rack"), ("rack", "site"), ("host", "site"), ("site", "city"), ("city", "site"))
    assert root.findtext("desc") == (
        "host determines rack. rack determines city = site. city and site determine each other."
    )
    assert len([e for e in root.iter("path") if e.get("class") == "line"]) == 2
    assert [e.text for e in root.iter("text")] == ["city = site", "host", "rack"]


def test_nothing_is_drawn_of_nothing_or_of_a_tangle() -> None:
    assert graph.dependency_graph([], 1) == ""
    many = [Dependency("id", f"tag_{i}") for i in range(graph.MOST_TAGS)]
    assert graph.dependency_graph(many, 1) == ""
    assert graph.dependency_graph(many[:-1], 1) != ""


def test_hostile_and_endless_names_stay_text_and_short() -> None:
    root = drawn((sample.HOSTILE, "x" * 500))
    texts = [e.text or "" for e in root.iter("text")]
    assert len(texts) == 2
    assert all(len(text) <= 24 for text in texts)
    assert "<img" not in graph.dependency_graph([Dependency(sample.HOSTILE, "b")], 1)
