"""IDs by the column: what differs, where, and how much."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from tsaudit.analysis.shapes.identifiers import are_registered
from tsaudit.analysis.shapes.shapes import IDENTIFIER_KINDS, classify

R = random.Random(20261122)


def some(characters: str, count: int) -> str:
    return "".join(R.choices(characters, k=count))


HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def is_id(values: list[str]) -> bool:
    return classify(values).kind in IDENTIFIER_KINDS


def day() -> date:
    return date(2023, 11, 20) + timedelta(R.randrange(80))


def test_codes_have_letters_and_digits_at_the_same_places_and_ids_do_not():
    codes = [f"{R.randint(10, 30)}{some('ABCDE', 3)}{R.randint(10, 99)}{some('XYZ', 2)}{i:03}" for i in range(64)]
    assert not is_id(codes)
    assert is_id([some("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 16) for _ in range(64)])


@pytest.mark.parametrize("length", [12, 16])
def test_devices_of_a_few_vendors_are_no_ids(length):
    vendors = [some(HEX, 6) for _ in range(3)]
    devices = [R.choice(vendors) + some(HEX, length - 6) for _ in range(64)]
    assert classify(devices).kind == "mac"
    assert classify([d.upper() for d in devices]).kind == "mac"
    assert is_id([some(HEX, length) for _ in range(64)])


def test_short_random_parts_come_again_and_are_no_ids():
    assert not is_id([f"#{some(HEX, 6)}" for _ in range(64)])
    assert is_id([f"veth{some(HEX, 8)}" for _ in range(64)])


def test_numbers_in_sequence_are_ids_from_a_hundred_thousand_on():
    assert is_id([str(4_812_000 + i) for i in range(64)])
    assert is_id([str(4_812_000 + 37 * i) for i in range(64)])
    assert is_id([str(312_400 + i) for i in range(100)])
    assert not is_id([str(1_900 + i) for i in range(64)])
    assert not is_id([str(433_000_000 + 100_000 * i) for i in range(64)])  # frequencies


def test_numbers_that_hardly_differ_for_their_length_are_serial_numbers_unless_nothing_was_left_out():
    assert not is_id([str(8_180_004_000 + R.randrange(3_000)) for _ in range(64)])
    assert is_id([str(8_180_004_000 + R.randrange(200)) for _ in range(64)])
    assert is_id([str(8_180_004_000 + 50 * i + R.randrange(10)) for i in range(64)])


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: f"{R.randrange(7_310_400, 7_310_440)}[{R.randrange(1, 200)}]", True),
        (lambda: f"pipeline {R.randrange(1_482_200, 1_482_260)} job {R.randrange(1, 40)}", True),
        (lambda: f"rec_{R.choice([1760000000, 1760003617, 1760017244])}_{R.randrange(1, 400):05}.seg", True),
        (lambda: f"S-{day():%d%m%y}-{R.randrange(1, 80):02}", True),
        (lambda: f"{day():%y%j}K{R.randrange(1, 80):02}", True),
        (lambda: f"{day():%d-%b-%Y}/{R.randrange(1, 80)}", True),
        (lambda: f"{day():%d.%m.%Y}-{R.randrange(1, 80):03}", True),
        (lambda: f"N{R.randrange(1, 80):02}_{day():%y_%m_%d}", True),
        (lambda: f"{R.randrange(1, 4):02}-{R.randrange(1, 5):02}-{R.randrange(1, 20):02}-{R.randrange(1, 90)}", False),
        (lambda: f"S-{R.randrange(231101, 231199)}-{R.randrange(1, 80):02}", False),
        (lambda: f"{R.randrange(23001, 23100)}K{R.randrange(1, 80):02}", False),
        (lambda: f"{R.randrange(1, 9):02}{R.randrange(1, 5):02}{R.randrange(1, 20):02}-{R.randrange(1, 9)}", False),
        (lambda: f"{R.randrange(48_211_000, 48_211_090)}-{R.randrange(1, 5)}", False),
        (lambda: f"{R.randrange(1_482_200, 1_482_260)} {R.choice(['north', 'south', 'east'])}", False),
        (lambda: f"{R.randrange(1_000_001, 1_000_060)}-{R.randrange(1, 9)}", False),
        (lambda: f"store {R.randrange(1_482_200, 1_482_260)} till {R.randrange(1, 9)}", False),
        (lambda: f"18/{R.randrange(140_012, 140_040)}/{R.randrange(85_400, 85_430)}", False),
        (lambda: f"{R.randrange(64_512, 64_530)}:{R.randrange(1, 300)}", False),
    ],
)
def test_numbers_restart_inside_those_of_events_and_inside_those_of_things(make, found):
    assert is_id([make() for _ in range(150)]) is found


@pytest.mark.parametrize("length", [300, 5_000])
def test_numbers_of_any_length_are_compared(length):
    assert is_id([some("123456789", length) for _ in range(20)])
    assert is_id([f"{some('123456789', length)}-{i % 7}" for i in range(20)])
    assert not is_id([f"{'7' * length}{i % 3}-{'8' * length}{i % 11}" for i in range(30)])


def test_a_catalog_has_fewer_entries_than_there_are_documents():
    assert not is_id([f"ch{R.randint(800, 99_000)}" for _ in range(64)])
    assert is_id([f"ch{R.randint(800, 400_000)}" for _ in range(64)])


def test_numbers_with_a_check_digit_belong_to_articles_and_phones():
    articles = ["4006381333931", "9780306406157", "5901234123457"]
    assert are_registered(articles)
    assert not are_registered(["4006381333932", *articles[1:]])
    assert are_registered(["490154203237518"])
    assert not are_registered(["12345"])


@pytest.mark.parametrize(
    ("prefix", "found"), [("INV-2025-", True), ("CASE-", True), ("PO", True), ("meter-", False), ("AS", False)]
)
def test_documents_are_numbered_without_end_and_things_are_not(prefix, found):
    assert is_id([f"{prefix}{R.randint(10_000, 400_000)}" for _ in range(64)]) is found
    assert not is_id([f"{prefix}{R.randint(10_000, 65_000)}" for _ in range(64)])


def test_values_of_several_forms_are_ids_if_most_forms_are():
    forms = [
        lambda: f"till/{R.randint(10**9, 10**10)}",
        lambda: f"web:{some(HEX, 16)}",
        lambda: f"{some('ABCDEFGHJKLMNPQRSTUVWXYZ23456789', 14)}",
        lambda: f"{R.choice(['north', 'south'])} {R.choice(['gate', 'hall'])} {R.randint(1, 90)}",
    ]
    assert is_id([forms[i % 4]() for i in range(120)])
    assert not is_id([forms[0 if i % 4 == 0 else 3]() for i in range(120)])


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: "-".join(some("0123456789", 4) for _ in range(4)), True),
        (lambda: "-".join(some("0123456789", 3) for _ in range(3)), False),
        (lambda: ":".join(some(HEX, 2) for _ in range(12)), True),
        (lambda: ":".join(some(HEX, 2) for _ in range(4)), False),
        (lambda: "-".join(some(UPPER, 4) for _ in range(3)), True),
        (lambda: "-".join(some(UPPER, 3) for _ in range(2)), False),
        (lambda: "-".join(R.choice(["stone", "river", "cloud", "field", "storm"]) for _ in range(4)), False),
        (lambda: f"2.25.{R.randint(1, 4)}.{some('123456789', 6)}.{some('123456789', 6)}.{some('123456789', 6)}", True),
        (lambda: "/".join(f"{R.randint(10, 59)}.{some('123456789', 5)}" for _ in range(2)), False),
    ],
)
def test_parts_leave_enough_room_together(make, found):
    assert is_id([make() for _ in range(100)]) is found


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: f"{R.choice('KLM')}{R.randint(18, 25)}/{R.randint(1, 9000):05}", True),
        (lambda: f"{R.randint(1, 9000):05}/{R.randint(2011, 2025)}", True),
        (lambda: f"{R.choice('KLM')}{R.randint(1, 8)}/{R.randint(1, 9000):05}", False),
        (lambda: f"{R.randint(1, 9000):05}/{R.randint(1, 8)}", False),
        (lambda: f"{R.randint(2011, 2025)}/{R.randint(1, 900):03}", False),
    ],
)
def test_numbers_of_a_year_have_leading_zeros_where_there_are_many(make, found):
    assert is_id([make() for _ in range(100)]) is found


@pytest.mark.parametrize(
    "make",
    [
        lambda: f"/srv/uploads/{some(HEX, 32)}/thumb.png",
        lambda: f"{some(HEX, 32)}/{R.choice(['a', 'b/c', 'd/e/f'])}",
        lambda: f"nightly__2024-0{R.randint(1, 9)}-{R.randint(10, 28)}T0{R.randint(0, 9)}:00:00+00:00",
        lambda: f"checkout-{some('bcdfghjklmnpqrstvwxz2456789', 5)}",
        lambda: some("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", 21),
        lambda: f"/items?colour={some('abcdefgh', 5)}&page={R.randint(1, 90)}",
    ],
)
def test_ids_within_longer_values_are_found(make):
    assert is_id([make() for _ in range(64)])
