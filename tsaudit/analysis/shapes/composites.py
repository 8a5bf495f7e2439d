"""Finds values that combine several attributes, such as `loc-kitchen.model-A612.id-1726ZA`.

Attributes without keys have positions: `eu:prod:web:12`, `[DE][Berlin]`, `cart@web01:8080`. Such values are compared by
the separators between their words. With separators that are hardly used for anything else, two pieces that vary are
attributes. Other separators also occur in names of a single thing, so more evidence from the pieces is needed. Values
may come in a few forms, such as without the last attribute; each form is judged alone.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, TypeVar

from tsaudit.analysis.alike import remembered
from tsaudit.analysis.shapes.shape_rules import compared, kind_of
from tsaudit.model.change import ColumnPart

_MAJORITY: Final = 0.8
_LONGEST: Final = 400
"""In characters; longer values are prose or documents, whatever they contain."""

_PAIR_SEPARATORS: Final = (",", ";", "|", "&", ".", "/", " ")
_PAIR_SIGNS: Final = ("=", ":", "-")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z]+")
_LEAD: Final = re.compile(r"^[\w.-]+[:{(\[](?=\w+=)")
"""What the pairs belong to: a metric, `http_requests{code=...`, or a domain, `java.lang:type=...`."""

_ONE_ATTRIBUTE: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "hash", "position", "epoch", "float", "integer"}
    | {"version", "duration", "hostname", "user_agent"}
)
"""Kinds of values that contain separators themselves."""


@dataclass(frozen=True, slots=True)
class Composite:
    """How the values of one tag or field split into attributes."""

    parts: tuple[ColumnPart, ...]
    """Named after the key of each attribute; `part_1`, `part_2`, ... if there are no keys. In that case, parts that are
    the same in all values are left out.
    """
    example: str
    """The complete value that the examples of the parts come from."""
    places: tuple[int, ...]
    """The position in the example at which the text of each part begins."""
    constant: int = 0
    """Number of pieces that are the same in all values and that `parts` leaves out; the names of parts do not count."""


def split_composite(values: Sequence[str]) -> Composite | None:
    """The attributes that at least 80% of the distinct values contain in the same order; None if there are none."""
    # As they are compared: a column has the same ones, whoever asks.
    return remembered(_attributes_of, compared(sorted({v for v in values if v.strip() and len(v) <= _LONGEST})))


def _attributes_of(distinct: Sequence[str]) -> Composite | None:
    kinds = {v: kind_of(v) for v in distinct}
    candidates = [v for v in distinct if kinds[v] not in _ONE_ATTRIBUTE]
    if not distinct or len(candidates) < _MAJORITY * len(distinct):
        return None
    marks = frozenset("".join(candidates))
    for separator, inner in itertools.product(_PAIR_SEPARATORS, _PAIR_SIGNS):
        if {separator, inner} <= marks and (separator, inner) != (" ", "-"):
            found = _agreed(partial(_pairs, separator=separator, inner=inner), candidates, len(distinct))
            if found and _is_meant(found[1], inner):
                return found[0]
    is_prose = sum(kinds[v] in {"log_text", "sql"} for v in candidates) > (1 - _MAJORITY) * len(candidates)
    return _positional(candidates, len(distinct), is_prose=is_prose)


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _forms(values: Iterable[tuple[_Key | None, _Value]], total: int, fewest: int) -> list[tuple[_Key, list[_Value]]]:
    """The values of each form that is frequent enough to be judged, the most frequent form first; empty if these are
    less than 80% of `total` values. None is no form. It does not read on once that is clear.
    """
    least = max(fewest, min(FEWEST, _MAJORITY * total))
    rare = (1 - _MAJORITY) * total
    forms: dict[_Key, list[_Value]] = {}
    without = 0
    for form, value in values:
        if form is None:
            without += 1
        else:
            forms.setdefault(form, []).append(value)
        if without > rare or len(forms) > total / least + rare:
            return []
    found = [(form, alike) for form, alike in forms.items() if len(alike) >= least]
    enough = sum(len(alike) for _, alike in found) >= _MAJORITY * total
    return sorted(found, key=lambda one: -len(one[1])) if enough else []


_Split = tuple[tuple[str, str], ...]


def _pairs(value: str, separator: str, inner: str) -> _Split | None:
    """The value as pairs of key and value, `k=v,k=v`; None unless the whole value has this form."""
    key = _WORD if inner == "-" else _KEY
    pairs = []
    value = value.strip("{}[]()").lstrip("/" if separator == "/" else "")
    for part in (_LEAD.sub("", value) if inner == "=" else value).split(separator):
        name, found, rest = part.strip().partition(inner)
        text = rest.strip(" \"'")
        if not found or not text or not key.fullmatch(name):
            return None
        pairs.append((name, text))
    return _numbered(pairs) if len(pairs) >= 2 else None


def _numbered(pairs: Sequence[tuple[str, str]]) -> _Split | None:
    """The pairs with unique keys: `DC=corp,DC=example` has `DC` and `DC_2`. None if they are only about one thing."""
    seen: Counter[str] = Counter()
    unique = []
    for name, text in pairs:
        seen[name] += 1
        unique.append((name if seen[name] == 1 else f"{name}_{seen[name]}", text))
    return tuple(unique) if len(seen) >= 2 else None


def _agreed(
    split: Callable[[str], _Split | None], values: Sequence[str], total: int
) -> tuple[Composite, list[_Split]] | None:
    """A split with the most frequent keys, and all splits with these keys, if most values have frequent keys."""
    keys = ((tuple(name for name, _ in pairs) if (pairs := split(v)) else None, v) for v in values)
    forms = _forms(keys, total, 1)
    if not forms:
        return None
    names, alike = forms[0]
    matching = [pairs for v in alike if (pairs := split(v))]
    for name, texts in zip(names, _texts(matching), strict=True):
        if name.endswith("_2") and len(texts) > 1:
            return None  # such as OU=a,OU=b: levels of one hierarchy, of which there may be any number
    parts = tuple(ColumnPart(*pair) for pair in matching[0])
    return Composite(parts, alike[0], tuple(_places(alike[0], matching[0]))), matching


def _places(value: str, split: _Split) -> Iterator[int]:
    """Where the texts begin, each behind its key; -1 for one that is written in another way, as in JSON."""
    end = 0
    for name, text in split:
        key = re.sub(r"_\d+$", "", name)
        place = value.find(text, value.find(key, end) + len(key))
        yield place
        end = place + len(text)


def _is_meant(splits: Sequence[_Split], inner: str) -> bool:
    """Whether several pairs vary, if there are enough values to see that: `ns=2;i=1007` is the name of one thing.

    Of `a-b.c-d`, which may be a host name with its domain, there have to be three.
    """
    varying = sum(len(texts) > 1 for texts in _texts(splits))
    return (len(splits[0]) >= 3 and varying >= 2) if inner == "-" else len(splits) < FEWEST or varying >= 2


def _texts(splits: Sequence[_Split]) -> list[set[str]]:
    """The different texts of each key."""
    return [{text for _, text in pairs} for pairs in zip(*splits, strict=True)]


FEWEST: Final = 8
"""With fewer distinct values, only a separator that is used for nothing else proves attributes."""
_FEW: Final = 0.5
"""A piece can be used for grouping if it has at most this many distinct values per value of the column."""
_NEARLY_ALL: Final = 0.9
_ENOUGH: Final = 20
"""With fewer values, all combinations of pieces may be the members of an enumeration."""
_COMBINED: Final = 0.6
"""Minimum share of all combinations of the pieces of two positions that must occur."""
_ALIKE: Final = 0.5

_PLAIN: Final = r"->|=>|::+|__+|--+|(?<= )[-/](?= )|%(?! )|[|;~#@^<>\\\t→!$&*\[\](){}]"
"""Separators that are hardly used for anything else, including brackets."""


def _between(separators: str) -> re.Pattern[str]:
    """One or more of the separators, with spaces and quotes around them."""
    return re.compile(rf"([ \"']*+(?:(?:{separators})[ \"']*+)+)")


_QUOTES: Final = re.compile("[\"']")
_PLAIN_ONLY: Final = _between(_PLAIN)
_PLAIN_MARKS: Final = "->=:_/%|;~#@^<\\\t→!$&*[](){}"
_SPLITS: Final = (
    (_PLAIN_MARKS + ",+", _between(rf"{_PLAIN}|[:/,=+]")),
    (_PLAIN_MARKS, _PLAIN_ONLY),
    *((mark, _between(re.escape(mark))) for mark in ":/,_.-"),
    (" ", re.compile("( +)")),
)
"""The ways to split values, tried in this order; each after the characters of which it needs at least one. The
separators are groups, so that one split returns them between the pieces.
"""
_CODE: Final = re.compile(r"[A-Za-z0-9]+")
_RUNS: Final = re.compile(r"[A-Za-z]+|\d+")
_ARROW: Final = re.compile("->|=>|→")
_PATH: Final = re.compile(r"[A-Za-z]:\\|\\\\|/")
_FILE: Final = re.compile(
    r"[A-Za-z]:\\|\\\\|/(?:bin|boot|dev|etc|home|lib|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)/"
)
"""The beginning of a file path, on Windows or by the Filesystem Hierarchy Standard."""
_LABEL: Final = re.compile(r"([^\W\d_]+)[-_ ]?\d+")
_LETTERS: Final = re.compile(r"[^\W\d_a-f]", re.IGNORECASE)
_LETTER: Final = re.compile(r"[^\W\d_]")
_PIECE: Final = re.compile(r"[^\W_]")
_NO_LETTER: Final = re.compile(r"[\W\d_]")
_NAMED: Final = re.compile(r"^[^\W\d_]{2}")
_PROSE: Final = re.compile(r" .* ")


class _Place:
    """The pieces of all values at one position."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # Most positions have the same few pieces in all values.
        self._counts = Counter(texts)

    @cached_property
    def label(self) -> str:
        """The text before the number in all pieces, such as `line` in `line0`; empty if there is none."""
        labels = Counter[str]()
        for text, count in self._counts.items():
            if found := _LABEL.fullmatch(text):
                labels[found[1]] += count
        label, count = labels.most_common(1)[0] if labels else ("", 0)
        return label if count >= _NEARLY_ALL * len(self.texts) else ""

    @property
    def values(self) -> int:
        """The number of different pieces."""
        return len(self._counts)

    @property
    def is_few(self) -> bool:
        """Whether there are several values that recur."""
        return 2 <= self.values <= _FEW * len(self.texts)

    @property
    def is_word(self) -> bool:
        """Whether the piece varies, and contains words: letters that do not occur in hexadecimal numbers, or any
        letters if it has few values.
        """
        form = _LETTER if self.is_few else _LETTERS
        return self.values > 1 and (bool(self.label) or self.share(form) >= _NEARLY_ALL)

    def share(self, form: re.Pattern[str]) -> float:
        """The share of the pieces in which the pattern occurs, 0 to 1."""
        return sum(count for text, count in self._counts.items() if form.search(text)) / len(self.texts)


def _positional(values: Sequence[str], total: int, *, is_prose: bool) -> Composite | None:
    """The attributes that at least 80% of `total` values have, in each form at the same position; None if there are
    none.

    `is_prose`: the values may be sentences, so every piece that varies has to recur.
    """
    marks = frozenset("".join(values))
    for needed, between in _SPLITS:
        if marks.isdisjoint(needed):
            continue
        split = map(between.split, values)
        forms = _forms(((tuple(parts[1::2]) or None, parts) for parts in split), total, 3)
        found = [(one, len(alike)) for form, alike in forms if (one := _of_form(form, alike, is_prose=is_prose))]
        if found and sum(count for _, count in found) >= _MAJORITY * total:
            return found[0][0]
    return _coded(values, total)


def _coded(values: Sequence[str], total: int) -> Composite | None:
    """The attributes of codes such as `HAM1FIL12`: letters of fixed lengths, at one place two or more, and numbers
    between them, that occur in most combinations.
    """
    runs = {value: _RUNS.findall(value) if _CODE.fullmatch(value) else [] for value in values}
    lengths = ((tuple(len(run) * run.isalpha() for run in found) or None, v) for v, found in runs.items())
    forms = _forms(lengths, total, _ENOUGH)
    if not forms or len(forms[0][1]) < _MAJORITY * total:
        return None
    alike = [runs[value] for value in forms[0][1]]
    places = [*map(_Place, zip(*alike, strict=True))]
    varying = [place for place in places if place.values > 1]
    words = [place for place in varying if place.texts[0].isalpha()]
    are_words = len(words) >= 2 and any(place.share(_NAMED) == 1 for place in words)
    if len(varying) < 3 or not are_words or not all(p.is_few for p in varying) or not _are_combined(varying):
        return None
    begins = [0, *itertools.accumulate(map(len, alike[0]))]
    at = tuple(begins[i] for i, place in enumerate(places) if place.values > 1)
    return Composite(tuple(_parts(places)), forms[0][1][0], at, len(places) - len(varying))


def _of_form(form: tuple[str, ...], alike: Sequence[Sequence[str]], *, is_prose: bool) -> Composite | None:
    """The attributes of values that have the same separators. `alike`: their pieces, with a separator between two."""
    places = [_Place(texts) for texts in itertools.islice(zip(*alike, strict=True), 0, None, 2)]
    varying = [i for i, place in enumerate(places) if place.values > 1]
    if is_prose and not all(places[i].is_few or places[i].label for i in varying):
        return None
    if len(varying) < 2 or any("" in places[i].texts or places[i].share(_PROSE) > 1 - _MAJORITY for i in varying):
        return None
    inner = [_QUOTES.sub("", separator) for separator in form[varying[0] : varying[-1]]]
    example = "".join(alike[0])
    if _are_alike(places, inner) or not _are_attributes(inner, places, example):
        return None
    ends = [*itertools.accumulate(map(len, alike[0]))]
    begins = [0, *ends[1::2]]
    names = {i - 1 for i in varying} if _keyed(places) else set()
    constant = sum(p.values == 1 and _PIECE.search(p.texts[0]) is not None for p in places) - len(names)
    return Composite(tuple(_parts(places)), example, tuple(begins[i] for i in varying), constant)


def _are_alike(places: Sequence[_Place], separators: Sequence[str]) -> bool:
    """Whether the values are lists of equal things, `shop.example|www.shop.example`, rather than attributes of one
    thing.
    """
    is_route = any(map(_ARROW.search, separators))
    varying = [p for p in places if p.values > 1 and not (is_route or all(map(str.isdecimal, p.texts)))]
    for one, other in itertools.combinations(varying, 2):
        inside = sum(a in b or b in a for a, b in zip(one.texts, other.texts, strict=True) if min(len(a), len(b)) > 2)
        common = set(one.texts) & set(other.texts)
        is_same = one.label and one.label == other.label
        if is_same or inside > _ALIKE * len(one.texts) or len(common) > _ALIKE * min(one.values, other.values):
            return True
    return False


def _are_attributes(separators: Sequence[str], places: Sequence[_Place], example: str) -> bool:
    """Whether the pieces are attributes, and not the words of a name or the levels of a path.

    `separators`: the separators from the first position that varies to the last.
    """
    varying = [p for p in places if p.values > 1]
    labels, few = sum(bool(p.label) for p in varying), sum(p.is_few or bool(p.label) for p in varying)
    if _FILE.match(example):
        return False
    is_plain = any(map(_PLAIN_ONLY.search, separators)) and not _PATH.match(example)
    if len(varying[0].texts) < FEWEST:
        return is_plain and all(map(_PLAIN_ONLY.fullmatch, separators))
    if is_plain:
        return few >= 1 or set("".join(separators)) <= set("|;~# ")
    if labels >= 2:
        return True
    joined = "".join(separators).replace(" ", "")
    words = sum(p.is_word for p in varying)
    if len(varying) >= 3 and words >= 2 and _are_meant(joined, varying) and _are_combined(varying):
        return True
    if not joined:
        # `Row 12 Seat 5`: nothing but words that name the numbers behind them.
        at = [i for i, place in enumerate(places) if place.values > 1]
        return _keyed(places) and all(b - a == 2 for a, b in itertools.pairwise(at))
    if joined[0] in "_-" or len(places) < 3:
        return False
    if set(joined) == {"/"} and _keyed(places):
        return True
    if _PATH.match(example):
        return False
    if labels and few == len(varying) and len({p.label for p in places if p.label}) > 1:
        return True  # numbered things inside those of another kind: `sw1/gi1/0/12`
    if words < 2:
        return False
    if set(joined) == {"."}:
        return few >= 3
    return few >= 2 or (":" in joined and few >= 1 and len(varying) >= 3)


def _are_meant(joined: str, places: Sequence[_Place]) -> bool:
    """Whether separators that are usual in names can separate attributes here: hyphens, of words; spaces, of pieces
    that are not all words.
    """
    if "-" in joined:
        return all(p.share(_NAMED) >= _NEARLY_ALL for p in places)
    return bool(joined) or any(p.share(_NO_LETTER) >= _NEARLY_ALL for p in places)


def _are_combined(places: Sequence[_Place]) -> bool:
    """Whether most pieces of each position occur with most pieces of each other one, as those of a name do not."""
    pairs = itertools.combinations(places, 2)
    return len(places[0].texts) >= _ENOUGH and all(
        len(set(zip(one.texts, other.texts, strict=True))) >= _COMBINED * one.values * other.values
        for one, other in pairs
    )


def _keyed(places: Sequence[_Place]) -> bool:
    """Whether each piece that varies follows one that names it: `projects/shop/zones/west`."""
    named = [
        i > 0 and places[i - 1].values == 1 and bool(_LETTERS.search(places[i - 1].texts[0]))
        for i, place in enumerate(places)
        if place.values > 1
    ]
    return len(named) >= 2 and all(named)


def _parts(places: Sequence[_Place]) -> list[ColumnPart]:
    keyed = _keyed(places)
    found: list[ColumnPart] = []
    for i, place in enumerate(places):
        if place.values > 1:
            name = place.label or (places[i - 1].texts[0] if keyed else "") or f"part_{len(found) + 1}"
            taken = any(part.name.lower() == name.lower() for part in found)
            found.append(ColumnPart(f"part_{len(found) + 1}" if taken else name, place.texts[0]))
    return found
