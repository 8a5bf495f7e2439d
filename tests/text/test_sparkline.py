"""The small line over time."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tsaudit.text.sparkline import HEIGHT, WIDTH, svg


def test_sparkline_needs_two_values() -> None:
    assert svg([]) == svg([5.0]) == ""
    assert 'points="4.0,4.0 356.0,30.0"' in svg([10.0, 5.0])
    assert 'points="4.0,56.0 356.0,56.0"' in svg([0.0, 0.0])


def test_sparkline_shows_the_limit_only_when_it_is_near() -> None:
    assert "stroke-dasharray" in svg([1.0, 50.0], 100.0)
    assert "stroke-dasharray" not in svg([1.0, 2.0], 100.0)


def test_sparkline_is_as_wide_as_asked() -> None:
    drawn = ElementTree.fromstring(svg([1.0, 2.0], 2.0, 200))
    assert (drawn.attrib["width"], drawn.attrib["viewBox"]) == ("200", f"0 0 200 {HEIGHT}")
    assert [child.attrib.get("points") or child.attrib["d"] for child in drawn] == ["4.0,30.0 196.0,4.0", "M0 4.0H200"]


@given(st.lists(st.floats(-1e15, 1e15), min_size=2, max_size=20), st.none() | st.floats(0, 1e16))
def test_sparkline_of_any_values_stays_inside(values: list[float], limit: float | None) -> None:
    line = ElementTree.fromstring(svg(values, limit)).find("{http://www.w3.org/2000/svg}polyline")
    assert line is not None
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert len(points) == len(values)
    assert all(0 <= x <= WIDTH and -0.1 <= y <= HEIGHT + 0.1 for x, y in points)
