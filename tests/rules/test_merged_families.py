"""Measurements of one family as one measurement."""

from __future__ import annotations

from tests.builders import a_field, a_measurement
from tsaudit.analysis.shapes.name_families import name_families
from tsaudit.model.change import ColumnPart
from tsaudit.rules.merged_families import with_quantity

NAMES = ("cpu.server-5.us-west.idle", "cpu.server-6.us-east.user")


def test_what_is_measured_is_a_tag_if_the_measurements_have_several_fields() -> None:
    """As the name of a field, it would have the fields of one overwrite those of the other."""
    (family,) = name_families(NAMES)
    assert (family.template, family.field) == ("cpu.{host}.{region}.{field}", "idle")
    one, two = ((a_field("v"),), (a_field("v"), a_field("w")))
    single = {name: a_measurement(name, fields=one) for name in NAMES}
    assert with_quantity(family, single) == family
    several = single | {NAMES[1]: a_measurement(NAMES[1], fields=two)}
    with_tag = with_quantity(family, several)
    assert with_tag.tags == (*family.tags, ColumnPart("quantity", "idle"))
    assert with_tag.field is None
    assert with_quantity(with_tag, several) == with_tag
