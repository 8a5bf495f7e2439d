"""What holds for every value of a class: composites, IDs, numbers, and what is harmless."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.shapes.composites import split_composite
from tsaudit.analysis.shapes.shapes import IDENTIFIER_KINDS, TEXT_KINDS, classify

LETTERS = ("ghij", "klmn", "opqr", "stuw")
"""Of each attribute its own, so that no word is part of another."""
COUNT = 60
SEEDS = st.integers(0, 2**32).map(random.Random)


def is_id(values: Sequence[str]) -> bool:
    return classify(values).kind in IDENTIFIER_KINDS


def is_harmless(values: Sequence[str]) -> bool:
    return classify(values).kind not in IDENTIFIER_KINDS | TEXT_KINDS


@st.composite
def vocabularies(draw: st.DrawFn, fewest: int) -> list[list[str]]:
    """Words of several attributes, with or without digits behind them."""
    count = draw(st.integers(fewest, 4))
    form = draw(st.sampled_from(("", "[0-9]", "[0-9]{1,2}", "[0-9]?")))
    return [
        draw(st.lists(st.from_regex(rf"[{letters}]{{2,6}}{form}", fullmatch=True), min_size=4, max_size=7, unique=True))
        for letters in LETTERS[:count]
    ]


PLAIN = ["|", ";", "; ", "~", "#", "@", "^", "->", "=>", "::", "__", "--", " - ", " / ", " > ", "\\", "\t", "|/", "@:"]
PLAIN += ["!", "$", "*", "&", "%", "→"]
BRACKETS = ["[]", "()", "{}", "<>"]


def joined(words: Sequence[str], style: str) -> str:
    if style in BRACKETS:
        return "".join(f"{style[0]}{word}{style[1]}" for word in words)
    # Several separators take turns.
    separators = itertools.cycle(style) if style in ("|/", "") else itertools.repeat(style)
    return words[0] + "".join(f"{between}{word}" for between, word in zip(separators, words[1:], strict=False))


@settings(deadline=None, max_examples=examples(150))
@given(vocabularies(2), st.sampled_from(PLAIN + BRACKETS), SEEDS)
def test_a_combination_comes_apart_whatever_the_separators(words, style, chance):
    combinations = list(itertools.product(*words))
    rows = chance.sample(combinations, min(COUNT, len(combinations)))
    assert_taken_apart(rows, [joined(row, style) for row in rows])


@settings(deadline=None, max_examples=examples(80))
@given(vocabularies(3), st.sampled_from([":", "/", ",", ", "]), SEEDS)
def test_separators_of_names_need_three_attributes(words, style, chance):
    rows = chance.sample(list(itertools.product(*words)), COUNT)
    assert_taken_apart(rows, [joined(row, style) for row in rows])


@settings(deadline=None, max_examples=examples(80))
@given(vocabularies(3), st.sampled_from(["-", " "]), SEEDS)
def test_hyphens_and_spaces_separate_what_occurs_in_all_combinations(words, style, chance):
    if style == " ":
        words[0] = [f"/{word}" for word in words[0]]
    combinations = list(itertools.product(*words))
    rows = chance.sample(combinations, min(4 * COUNT, len(combinations)))
    assert_taken_apart(rows, [joined(row, style) for row in rows])


@settings(deadline=None, max_examples=examples(80))
@given(st.sampled_from(["-", " "]), st.integers(3, 6), SEEDS)
def test_words_below_one_other_word_are_parts_of_a_name(style, count, chance):
    sites = [word(chance) for _ in range(count)]
    lines = [(site, word(chance)) for site in sites for _ in range(count)]
    assert split_composite([joined((*line, word(chance)), style) for line in lines for _ in range(3)]) is None


def word(chance: random.Random) -> str:
    return "".join(chance.choice("bdfgklmnprst") + chance.choice("aeiou") for _ in range(chance.randint(2, 4)))


@settings(deadline=None, max_examples=examples(80))
@given(st.sampled_from([str.upper, str.title, str]), st.integers(6, 9), SEEDS)
def test_many_words_are_a_text_if_their_number_varies(spelled, most, chance):
    words = [spelled(word(chance)) for _ in range(40)]
    texts = {" ".join(chance.choices(words, k=most - 3 + i % 6)) for i in range(COUNT)}
    assert classify(list(texts)).kind in TEXT_KINDS
    titles = {" ".join(sorted(chance.choices(words, k=chance.randint(1, 4)))) for _ in range(COUNT)}
    assert is_harmless(list(titles))


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(["{d} {m} {y} {t}", "{w}, {d}. {m} {y}, {t}", "{w} {m} {d} {t} {y}"]), SEEDS)
def test_the_month_is_a_word_of_any_language(form, chance):
    months, days = [word(chance) for _ in range(12)], [word(chance)[:3].title() for _ in range(7)]
    values = [
        form.format(d=chance.randint(1, 28), m=chance.choice(months), w=chance.choice(days), y=2026, t=f"{hour:02}:30")
        for hour in range(24)
    ]
    assert classify(values).kind == "iso_time"


@settings(deadline=None, max_examples=examples(80))
@given(vocabularies(2), st.sampled_from(["-", "."]), st.sampled_from(["|", "@", "::", "__", "[]"]), SEEDS)
def test_words_of_an_attribute_can_have_separators_of_their_own(words, inner, style, chance):
    assume((inner, style) != (".", "@"))  # an address of mail
    words = [[f"{word}{inner}{word[:1]}" for word in attribute] for attribute in words]
    combinations = list(itertools.product(*words))
    rows = chance.sample(combinations, min(COUNT, len(combinations)))
    assert_taken_apart(rows, [joined(row, style) for row in rows])


def assert_taken_apart(rows: Sequence[tuple[str, ...]], values: Sequence[str]) -> None:
    found = split_composite(values)
    assert found is not None
    row = rows[values.index(found.example)]
    varying = [word for i, word in enumerate(row) if len({other[i] for other in rows}) > 1]
    assert [part.example for part in found.parts] == varying
    assert all(found.example[p:].startswith(part.example) for p, part in zip(found.places, found.parts, strict=True))
    assert list(found.places) == sorted(found.places)


@settings(deadline=None, max_examples=examples(50))
@given(st.sampled_from(LETTERS), st.sampled_from([p for p in PLAIN[:14] if ">" not in p]), SEEDS)
def test_a_list_of_things_of_one_kind_is_no_combination(letters, style, chance):
    things = ["".join(chance.choices(letters, k=5)) for _ in range(20)]
    assert split_composite([style.join(chance.sample(things, 2)) for _ in range(COUNT)]) is None


ALPHABETS = {
    "0123456789abcdef": 8,
    "0123456789ABCDEF": 8,
    "abcdefghijklmnopqrstuvwxyz0123456789": 9,
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789": 9,
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789": 16,
    "0123456789": 11,
}
WORDS = st.sampled_from(["", "req", "order_", "acme/prod/", "tmp.", "urn:x:", "Token "])


@settings(deadline=None, max_examples=examples(150))
@given(
    st.sampled_from(sorted(ALPHABETS)),
    st.integers(0, 20),
    WORDS,
    st.sampled_from(["", ".log", "/x", "@mx", "DE"]),
    SEEDS,
)
def test_a_random_part_makes_an_id_whatever_is_around_it(alphabet, more, before, behind, chance):
    length = ALPHABETS[alphabet] + more
    parts = ["".join(chance.choices(alphabet, k=length)) for _ in range(COUNT)]
    # Letters right behind digits belong to the number, behind other letters they are some of them.
    behind = "" if behind == "DE" and alphabet != "0123456789" else behind
    assert is_id([f"{before}{part}{behind}" for part in parts])


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(2, 10**6), st.integers(1, 50), st.sampled_from(["", "PO-", "#", "/orders/", "job "]), SEEDS)
def test_numbers_that_a_counter_came_to_lately_are_ids(millions, gaps, before, chance):
    # A whole block of numbers with the same first digits is not passed by a counter but handed out.
    start = millions * 10**6 - COUNT * gaps // 2
    numbers = chance.sample(range(start, start + COUNT * gaps), COUNT)
    # Of a number that long, alone and with gaps, the first digits may be those of a model.
    assume(before or gaps <= 4 or COUNT * gaps > 1.1e-6 * start)
    assert is_id([f"{before}{number}" for number in numbers])
    if start < 10**9:
        assert is_harmless([str(start // 1000 * 1000 + 1000 * chance.randrange(5000)) for _ in range(COUNT)])


@settings(deadline=None, max_examples=examples(100))
@given(
    st.sampled_from(["{y}{m:02}{d:02}", "{y}-{m:02}-{d:02}", "{y}/{m:02}/{d:02}", "{y}.{m:02}.{d:02}"]),
    st.sampled_from(["-", "_", "/", ""]),
    st.integers(3, 8),
    st.sampled_from(["", "RX-", "batch_", "LS/"]),
    SEEDS,
)
def test_a_number_behind_a_day_counts_what_happened_on_it(day, separator, width, before, chance):
    assume(before or ("." not in day and not (width == 6 and day[3] == "{")))
    values = [
        before
        + day.format(y=chance.randint(2015, 2029), m=chance.randint(1, 12), d=chance.randint(1, 28))
        + f"{separator}{chance.randrange(10 ** min(width, 4)):0{width}}"
        for _ in range(COUNT)
    ]
    assert is_id(values)


@settings(deadline=None, max_examples=examples(80))
@given(st.integers(1, 8), st.integers(2, 4), st.integers(4, 6), SEEDS)
def test_numbers_that_a_few_issuers_begin_are_things(issuers, length, digits, chance):
    begins = [chance.randrange(10 ** (length - 1) * 3, 10**length) for _ in range(issuers)]
    assume(issuers == 1 or max(begins) > min(begins) * 1.2)
    numbers = [f"{chance.choice(begins)}{chance.randrange(10**digits):0{digits}}" for _ in range(2 * COUNT)]
    assert is_harmless(numbers)


NOTATIONS = ["", ":", "-", "."]


@settings(deadline=None, max_examples=examples(100))
@given(
    st.sampled_from(NOTATIONS),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([12, 16]),
    st.sampled_from(["", "sensor-", "ble_", "0x"]),
    SEEDS,
)
def test_addresses_of_devices_of_a_few_makers_are_harmless(notation, is_upper, makers, length, before, chance):
    vendors = ["".join(chance.choices("0123456789abcdef", k=6)) for _ in range(makers)]
    texts = [
        f"{chance.choice(vendors)}{''.join(chance.choices('0123456789abcdef', k=length - 6))}" for _ in range(COUNT)
    ]
    texts = [notation.join(text[i : i + 2] for i in range(0, length, 2)) for text in texts]
    assert is_harmless([before + (text.upper() if is_upper else text) for text in texts])


UNITS = [
    ("d", "h", "m", "s"),
    (" days", " hours", " minutes", " seconds"),
    ("j", "h", "min", "s"),
    (" T", " Std.", " Min.", " Sek."),
]


@settings(deadline=None, max_examples=examples(100))
@given(st.sampled_from(UNITS), st.integers(1, 4), st.sampled_from(["", " ", ", "]), st.booleans(), SEEDS)
def test_lengths_of_time_are_harmless_in_any_unit(units, count, between, is_prefixed, chance):
    assume(between or units[0] == units[0].strip())

    def one() -> str:
        return between.join(f"{chance.randint(1, 99)}{unit}" for unit in units[:count])

    values = [f"up {one()}" if is_prefixed else one() for _ in range(COUNT)]
    assert is_harmless(values)
    assert split_composite(values) is None


@pytest.mark.parametrize(
    "form", ["P{d}DT{h}H{m}M", "PT{h}H{m}M{s}S", "{d} days, {h:02}:{m:02}:{s:02}", "{h:02}:{m:02}:{s:02}.{d:03}"]
)
def test_lengths_of_time_are_harmless_in_formats(form):
    chance = random.Random(form)
    values = [
        form.format(d=chance.randrange(90), h=chance.randrange(24), m=chance.randrange(60), s=chance.randrange(60))
        for _ in range(COUNT)
    ]
    assert is_harmless(values)
    assert split_composite(values) is None


@settings(deadline=None, max_examples=examples(60))
@given(
    st.sampled_from(["i-0{r}{r}", "ip-10-{n}-{n}-{n}", "web-{r}", "{r}", "db{n}.{r}"]),
    st.sampled_from(
        ["eu-west-1.compute.internal", "elb.amazonaws.com", "svc.cluster.local", "acme.net", "fra1.acme.cloud"]
    ),
    SEEDS,
)
def test_hosts_are_harmless_whatever_their_cloud_calls_them(form, domain, chance):
    def one() -> str:
        parts = [
            f"{chance.getrandbits(32):08x}" if c == "{r}" else c for c in form.replace("{r}", "\0{r}\0").split("\0")
        ]
        return "".join(parts).replace("{n}", str(chance.randrange(255)))

    assert is_harmless([f"{one()}.{domain}" for _ in range(COUNT)])
