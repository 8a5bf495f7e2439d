"""Values that hold several attributes, and the many that only look so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.shapes.test_shapes import GENERATORS
from tests.examples import examples
from tsaudit.analysis.shapes.composites import Composite, split_composite
from tsaudit.model.change import ColumnPart


def test_the_sensor_of_the_guideline_is_split_in_three():
    values = ["loc-kitchen.model-A612.id-1726ZA", "loc-bath.model-A612.id-2635YB"]
    assert split_composite(values) == Composite(
        (ColumnPart("loc", "bath"), ColumnPart("model", "A612"), ColumnPart("id", "2635YB")),
        "loc-bath.model-A612.id-2635YB",
        (4, 15, 23),
    )


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["room=kitchen,floor=2"], ["room", "floor"]),
        (["site:a|line:1", "site:b|line:2"], ["site", "line"]),
        (["{job='api',zone='a'}", "{job='web',zone='b'}"], ["job", "zone"]),
        (["a=1; b=2", "a=3; b=4"], ["a", "b"]),
        (["env=prod app=web", "env=dev app=db"], ["env", "app"]),
        ([f"54.{i * 7919 % 9000:05}|10.{i * 104729 % 9000:05}" for i in range(60)], ["part_1", "part_2"]),
        (["kitchen|A612|1", "bath|A612|2", "hall|B1|3"], ["part_1", "part_2", "part_3"]),
        (["loc-living-room.model-x.id-1", "loc-bath.model-y.id-2"], ["loc", "model", "id"]),
    ],
)
def test_other_ways_to_write_attributes(values, names):
    found = split_composite(values)
    assert found is not None
    assert [part.name for part in found.parts] == names
    assert found.example in values


def test_quotes_around_a_value_are_no_part_of_it():
    found = split_composite(["{job='api',zone='a'}"])
    assert found is not None
    assert found.parts == (ColumnPart("job", "api"), ColumnPart("zone", "a"))


EIGHT = range(8)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([f"eu{i % 2}x:{'prod' if i % 3 else 'dev'}:web:{i}" for i in EIGHT], ["part_1", "part_2", "part_3"]),
        ([f"plant{i % 2}/line{i % 4}/dev{i:03}" for i in EIGHT], ["plant", "line", "dev"]),
        ([f"projects/p{i}/zones/west{i % 2}" for i in EIGHT], ["p", "west"]),
        ([f"DE_F{i % 2}_R{i}" for i in EIGHT], ["F", "R"]),
        ([f"DC{i % 2}-U{i}" for i in EIGHT], ["DC", "U"]),
        ([f"/tenants/{c}/rooms/{c}{c}" for c in "abcdefgh"], ["tenants", "rooms"]),
        ([f"Hall {'AB'[i % 2]} Bay {i}" for i in EIGHT], ["Hall", "Bay"]),
        ([f"pool.jdbc:kind={'ro' if i % 2 else 'rw'},shard={i}" for i in EIGHT], ["kind", "shard"]),
        ([f"queue_depth{{lane={i % 2},belt={i}}}" for i in EIGHT], ["lane", "belt"]),
        ([f"CN=n{i},OU=o{i % 2},DC=corp,DC=example" for i in EIGHT], ["CN", "OU", "DC", "DC_2"]),
    ],
)
def test_attributes_by_place(values, names):
    found = split_composite(values)
    assert found is not None
    assert [part.name for part in found.parts] == names


@pytest.mark.parametrize(
    ("forms", "names"),
    [
        (["{dock}|{ship}|night", "{dock}|{ship}"], ["part_1", "part_2"]),
        (["load[{dock},{ship}]", "load[/{dock},{ship},all]"], ["part_1", "part_2"]),
        (["dock={dock};ship={ship}", "dock={dock};ship={ship};late=1"], ["dock", "ship"]),
    ],
)
def test_attributes_can_be_missing_in_some_of_the_values(forms, names):
    pairs = [{"dock": dock, "ship": ship} for dock in ("north", "south", "west") for ship in ("opal", "jade", "ruby")]
    values = [form.format(**pair) for form in forms for pair in pairs]
    found = split_composite(values)
    assert found is not None
    assert [part.name for part in found.parts] == names
    # A third form without attributes is too much.
    assert split_composite(values + [f"spare{i}" for i in range(9)]) is None


def test_underscores_separate_attributes_that_occur_in_all_combinations():
    ports = [
        f"{a}_{b}_{c}" for a in ("oslo", "kiel", "gent") for b in ("bulk", "tank") for c in ("in", "out", "idle", "off")
    ]
    found = split_composite(ports)
    assert found is not None
    assert len(found.parts) == 3
    assert split_composite(ports[::4] + [f"q{i}_r{i}_s{i % 3}x" for i in range(6)]) is None


def test_what_is_the_same_in_all_values_is_no_attribute():
    found = split_composite([f"arn:sns:eu{i % 2}x:{'prod' if i % 3 else 'dev'}:{'abcdefgh'[i]}z" for i in EIGHT])
    assert found is not None
    assert [part.example for part in found.parts] == found.example.split(":")[2:]
    assert list(found.places) == [found.example.index(part.example) for part in found.parts]


@pytest.mark.parametrize(
    "values",
    [
        [f"srv-{'muc' if i % 2 else 'ber'}-{'app' if i % 3 else 'db'}-{i:02}" for i in EIGHT],
        [f"ge-{i % 2}/{i % 3}/{i}" for i in EIGHT],
        [f"user {i} left room {i % 2} of hall" for i in EIGHT],
        [f"0000:{i:02x}:00.{i % 2}" for i in EIGHT],
        [f"/usr/{'bin' if i % 2 else 'sbin'}/tool{'abcdefgh'[i]}" for i in EIGHT],
        [f"feature/{a}-{b}" for a in ("red", "blue") for b in ("cat", "dog", "cow", "hen")],
        ['{"find": "a", "filter": {"id": 1}}', '{"find": "b", "filter": {"id": 2}}'],
    ],
)
def test_names_and_paths_of_one_thing_are_left_alone(values):
    assert split_composite(values) is None


@pytest.mark.parametrize("others", [1, 3])
def test_four_fifths_of_the_values_must_agree(others):
    values = [f"room=r{i},floor={i}" for i in range(8)] + [f"plain{i}" for i in range(others)]
    assert (split_composite(values) is not None) == (others == 1)


@pytest.mark.parametrize(
    "values",
    [
        ["web-1.eu-west.example.com", "web-2.eu-west.example.com"],
        ["db-1.prod-eu.acme-corp", "db-2.prod-eu.acme-corp", "db-3.prod-eu.acme-corp"],
        ["web-1.rack-3", "web-2.rack-4"],
        ["1.2.3", "1.2.4"],
        ["10.0.0.1:80", "10.0.0.2:80"],
        ["2001:db8::1", "2001:db8::2"],
        ["/a=1,b=2", "/a=3,b=4"],
        ["2026-11-21", "2026-11-22"],
        ["12.5", "13.5"],
        ["error at a=1, b=2 in line 7", "error at a=2, b=3 in line 8"],
        ["CN=a,OU=b,OU=c", "CN=d,OU=e,OU=f"],
        ["us-west", "us-east"],
        ["a|b", "c|d"],
        ["plain", "words"],
        ["a=,b=2"],
        ["x|", "y|", "z|"],
        ["same|1", "same|2", "same|3"],
        [],
        ["", " "],
    ],
)
def test_what_only_looks_like_attributes_is_left_alone(values):
    assert split_composite(values) is None


@pytest.mark.parametrize("kind", sorted(set(GENERATORS) - {"json"}))
def test_no_other_kind_of_value_is_split(kind):
    for make in GENERATORS[kind]:
        assert split_composite([make() for _ in range(60)]) is None


@settings(deadline=None, max_examples=examples(50))
@given(
    st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=2, max_size=4, unique=True),
    st.lists(st.lists(st.from_regex(r"[a-z0-9]{1,4}", fullmatch=True), min_size=4, max_size=4), min_size=1, max_size=6),
)
def test_pairs_joined_by_commas_come_apart_again(keys, rows):
    values = [",".join(f"{k}={v}" for k, v in zip(keys, row, strict=False)) for row in rows]
    found = split_composite(values)
    assert found is not None
    assert [part.name for part in found.parts] == keys
    assert found.example == ",".join(f"{part.name}={part.example}" for part in found.parts)


def test_numbered_things_inside_numbered_things_are_attributes_where_each_has_the_same():
    found = split_composite([f"dc1/sw{s:02}/gi1/0/{p}" for s in range(6) for p in range(1, 9)])
    assert found is not None
    assert [part.name for part in found.parts] == ["sw", "part_2"]
    # The slots and ports of one device are a name of one thing.
    assert split_composite([f"gi{s}/0/{p}" for s in range(1, 5) for p in range(1, 9)]) is None


def test_codes_of_words_and_numbers_are_attributes_if_all_combinations_occur():
    sites, kinds = ("HAM", "ULM", "BER"), ("FIL", "CAP")
    lines = [f"{s}{line}{kind}{n}" for s in sites for line in (1, 2) for kind in kinds for n in range(8, 12)]
    found = split_composite(lines)
    assert found is not None
    assert (found.parts[0].example, found.places) == (found.example[:3], (0, 3, 4, 7))
    assert split_composite([line.replace("FIL", "CAP") for line in lines]) is None
    models = [f"{word}{100 + 7 * i}{'BK' if i % 2 else 'WH'}{36 + i % 9}" for i in range(30) for word in ("AX", "CT")]
    assert split_composite(models) is None
    of_one_site = [("HAM", "FIL"), ("HAM", "CAP"), ("ULM", "LBL"), ("ULM", "PAL"), ("BER", "MIX"), ("BER", "WGH")]
    assert split_composite([f"{site}{i}{kind}{i % 2}" for site, kind in of_one_site for i in range(9)]) is None
    assert split_composite([f"{a}{i}{b}{j}" for a in "ABCD" for i in range(1, 5) for b in "NS" for j in (1, 2)]) is None
