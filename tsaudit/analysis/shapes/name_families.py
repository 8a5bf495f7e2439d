"""Finds names of measurements, tables, keys, or fields of documents that differ only in embedded data.

Names such as `Cpu.server-5.us-west.usage_user` should be one measurement `cpu` with tags; `events_2024_01` and
`events_2024_02` should be one table, because its rows have timestamps. In documents, dates, IDs, or numbers may be
siblings: `scores: { u1001: 7, u1002: 3 }`.

Names may also be a grid of words: `kitchen_temperature`, `kitchen_humidity`, `bath_temperature`, and so on. Each word
alone could be part of a name. That nearly all combinations exist shows that the words are data: the parts of a name
that a program or a person puts together from lists. Names that any quantity can have, such as `min`, do not say what is
measured.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from tsaudit.analysis.shapes.identifiers import are_random_texts, are_short_ids, beginning
from tsaudit.analysis.shapes.periods import FILLED, dated_templates
from tsaudit.analysis.shapes.shape_rules import KUBERNETES, is_random
from tsaudit.analysis.significance import A_LIST
from tsaudit.model.change import ColumnPart, Merged
from tsaudit.model.columns import Field
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import KeyedFields


@dataclass(frozen=True, slots=True)
class NameFamily:
    """Names that are the same except for embedded data, and what to use instead."""

    template: str
    """The name with each piece of data replaced by its kind in braces: `{date}`, `{host}`, `{region}`, `{id}`, `{mac}`,
    `{env}`, `{n}` for a number; `{field}` if the last part names what is measured and varies.
    """
    members: tuple[str, ...]
    """The names, sorted."""
    measurement: str
    """The suggested name for all of them."""
    tags: tuple[ColumnPart, ...]
    """The suggested tags, with their values for the first member. None for a date: every row has a timestamp."""
    field: str | None
    """What the first member measures, if its last part says so."""

    @property
    def is_numbered(self) -> bool:
        """Whether nothing but numbers varies."""
        return self.template.count("{") == self.template.count("{n}")


def name_families(names: Sequence[str]) -> list[NameFamily]:
    """The families among the names, sorted by template; each name is in one family at most.

    A single name is a family of its own only if it has at least three dotted parts, one of which is clearly a host,
    region, or ID.
    """
    families = (_family(group) for group in _groups(names) if _is_meant(group))
    return sorted(families, key=lambda f: f.template)


def _groups(names: Sequence[str]) -> Iterator[list[NameReading]]:
    groups: dict[tuple[str, ...], list[NameReading]] = defaultdict(list)
    for reading in readings(names):
        if reading.data:
            groups[reading.key].append(reading)
    for group in groups.values():
        yield _without_constants(group)


def _without_constants(group: list[NameReading]) -> list[NameReading]:
    """Of `dev_1` and `dev_2`, `dev` is no environment, and of `disk2 {id}`, `2` is no data: it is the same in all."""
    first, found = group[0], _COUNTED_ENV.search(group[0].template)
    varies = [len(set(texts)) > 1 for texts in zip(*(reading.data for reading in group), strict=True)]
    same = {
        place
        for place, (kind, _) in enumerate(first.data)
        if not varies[place] and any(varies) and (kind == "n" or (kind == "env" and found and first.field is None))
    }
    if not same:
        return group
    texts = iter([text if place in same else None for place, (_, text) in enumerate(first.data)])
    template = re.sub(r"\{\w+\}", lambda found: next(texts) or found[0], first.template)
    return [
        replace(one, template=template, data=tuple(d for place, d in enumerate(one.data) if place not in same))
        for one in group
    ]


_COUNTED_ENV: Final = re.compile(r"\{env\}[-_]?\{(?:n|id|mac)\}")

_FEWEST: Final = {"n": 3}
"""Number of names that make a family, by kind of data; two for all others."""
_COMMON_CODES: Final = frozenset({200, 404, 500})
"""Of these, two are among all status codes of HTTP, and hardly among the numbers of rooms."""
_ANSWERS: Final = re.compile("http|status|code|response|answer|reply|replies", re.IGNORECASE)
_CODES: Final = frozenset(map(int, HTTPStatus)) | {499, 520, 521, 522, 523, 524}


def _is_meant(group: Sequence[NameReading]) -> bool:
    """Whether the names are alike by design and not by coincidence, given their number."""
    if any(reading.sure for reading in group):
        return True
    kinds = {kind for kind, _ in group[0].data}
    differ = len({reading.data for reading in group})
    fewest = min(_FEWEST.get(kind, 2) for kind in kinds)
    if kinds == {"n"} and not _are_counted([reading.data for reading in group], group[0].template):
        return False
    # A number without a separator before it, as in `cpu0`, is more often part of the word.
    return differ >= fewest + (kinds == {"n"} and not re.search(r"(?:[^A-Za-z0-9]|^)\{n\}", group[0].template))


def _are_counted(data: Sequence[tuple[tuple[str, str], ...]], template: str) -> bool:
    """Whether the numbers at some place are those of things, and not status codes, sizes, or other settings.

    Whoever chooses a setting takes a round number, a multiple of five or a power of two; a counter has all kinds.
    """
    for texts in zip(*([text for _, text in pieces] for pieces in data), strict=True):
        numbers = sorted({int(found[0]) for text in texts if (found := re.search(r"\d+", text))})
        if any(re.search(r"(?<!\d)0\d", text) for text in texts) or not (
            _are_codes(numbers, template) or _are_chosen(numbers)
        ):
            return True
    return False


def _are_codes(numbers: Sequence[int], template: str) -> bool:
    are_likely = len(_COMMON_CODES & set(numbers)) > 1 or _ANSWERS.search(template)
    return bool(are_likely) and _CODES.issuperset(numbers)


def _are_chosen(numbers: Sequence[int]) -> bool:
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    round_ones = sum(n >= 10 and (n % 5 == 0 or n & (n - 1) == 0) for n in numbers)
    if len(numbers) < 3 or len(steps) == 1 or round_ones < max(3, 0.7 * len(numbers)):
        return False
    # A line's stations 10, 20, 30, 50, 60 are counted by tens.
    return len(numbers) < _ENOUGH or len(numbers) / ((numbers[-1] - numbers[0]) / math.gcd(*steps) + 1) < FILLED


_ENOUGH: Final = 5
"""Numbers from which gaps among them are compared with the whole."""


def _family(group: Sequence[NameReading]) -> NameFamily:
    first, read = group[0], _proposed_tags(group)
    fields = {reading.field for reading in group}
    last = "" if first.field is None else f".{first.field}" if len(fields) == 1 else ".{field}"
    measurement, field = _proposed_name(first)
    return NameFamily(
        template=first.template + last,
        members=tuple(reading.name for reading in group),
        measurement=measurement,
        tags=tuple(map(ColumnPart, read, (text for kind, text in first.data if kind != "date"))),
        field=field,
    )


def _proposed_name(reading: NameReading) -> tuple[str, str | None]:
    """The words of the name that are not data; the field, too, if nothing else is left."""
    words = [w for w in re.split(r"[^A-Za-z0-9]+", re.sub(r"\{\w+\}", ".", reading.template)) if w]
    words = [w for w in words if not _LONG_NUMBER.fullmatch(w)] or words
    if "." in reading.template:
        words = [w.lower() for w in words]
    if words:
        return "_".join(words), reading.field
    return reading.field or "readings", None


def _proposed_tags(group: Sequence[NameReading]) -> list[str]:
    """Names for what varies, after what it is. A number is named after the word before it, or else after its place, and
    so is a part of which nobody knows what it is.
    """
    template, data = group[0].template, group[0].data
    places = [found.start() for found in re.finditer(r"\{\w+\}", template)]
    if len(places) != len(data):  # The name itself contains braces.
        places = [0] * len(data)
    seen: dict[str, int] = defaultdict(int)
    names: list[str] = []
    for at, (kind, _), texts in zip(places, data, zip(*(one.data for one in group), strict=True), strict=True):
        if kind == "date":
            continue
        counted = _counted(template, at, are_numbers=all(text.isdecimal() for _, text in texts))
        place = len(re.findall(r"[A-Za-z0-9]+|\{\w+\}", template[:at]))
        begun = {found[1].lower() if (found := _BEGUN.match(text)) else "" for _, text in texts}
        counted = counted or (begun.pop() if len(begun) == 1 else "")
        name = (counted or place_name(place)) if kind == "n" else kind
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return names


def _counted(template: str, at: int, *, are_numbers: bool) -> str:
    """What the number at this place counts, by the word before it; empty if there is none, or it may be a name, such as
    `edge07` in `metrics.edge07.load`.
    """
    stem = re.search(r"([A-Za-z]+)[^A-Za-z0-9{}]*$", _LONG_NUMBER.sub("", template[:at]))
    is_part = "." in template and re.search(r"\.$", template[:at]) and re.match(r"\{n\}(\.|$)", template[at:])
    if stem is None or (is_part and not are_numbers):
        return ""
    return stem[1].lower() if is_part else f"{stem[1].lower()}_number"


_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def place_name(position: int) -> str:
    """The name of a part of which nothing but its place is known, counted from 0."""
    return f"{_ORDINALS[position]}_part" if position < len(_ORDINALS) else f"part_{position + 1}"


def is_place_name(name: str) -> bool:
    """Whether it says nothing but the place."""
    return re.fullmatch(rf"({'|'.join(_ORDINALS)})_part|part_\d+", name) is not None


def parsed_names(family: NameFamily) -> Iterator[Merged]:
    """What the name of each member contains: the tags that the family suggests, with their values in it."""
    for group in _groups(family.members):
        names = _proposed_tags(group)
        for reading in group:
            tags = tuple(zip(names, (text for kind, text in reading.data if kind != "date"), strict=True))
            yield Merged(reading.name, tags, (reading.field or "") if family.field else "")


@dataclass(frozen=True, slots=True)
class NameReading:
    """One name, split into data and words."""

    name: str
    template: str
    data: tuple[tuple[str, str], ...]
    """Kind and text of each piece of data, in order."""
    field: str | None
    sure: bool
    """Whether one such name is enough."""

    @property
    def key(self) -> tuple[str, ...]:
        """The same for all names of a family: they may measure different things, so the field does not matter."""
        return (self.template, "" if self.field is None else "field")


_DIRECTIONS: Final = "north|south|east|west|central|northeast|southeast|northwest|southwest"
_FROM: Final = r"(?<![A-Za-z0-9])"
_TO: Final = r"(?![A-Za-z0-9])"
_PAIR: Final = "[0-9a-f]{2}"

_DATA: Final = re.compile(
    rf"(?P<id>{_FROM}[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}{_TO})"
    rf"|(?P<pod>(?<=[A-Za-z0-9]-)(?=[a-z]*\d){KUBERNETES}{{6,10}}-{KUBERNETES}{{5}}{_TO})"
    rf"|(?P<mac>{_FROM}{_PAIR}(?P<c>[:_-]){_PAIR}(?:(?P=c){_PAIR}){{4}}(?:(?P=c){_PAIR}){{0,2}}{_TO})"
    rf"|(?P<address>{_FROM}(?:ip[-_])?\d{{1,3}}(?:[-_.]\d{{1,3}}){{3}}{_TO})"
    rf"|(?P<region>{_FROM}(?:us|eu|ap|sa|ca|me|af|cn|il|mx|uk|europe|asia|australia|northamerica|southamerica)"
    rf"[-_](?:gov[-_])?(?:{_DIRECTIONS})(?:[-_]?\d{{1,2}}(?:-?[a-f])?)?{_TO})"
    rf"|(?P<host>{_FROM}(?:[a-z]+-)*(?:host|server|srv|node|web|db|vm|worker|machine|instance|broker|proxy|gateway|"
    rf"router|switch|edge)[-_]?\d{{1,6}}{_TO})"
    rf"|(?P<env>{_FROM}(?:prod|production|staging|stage|stg|dev|development|test|testing|qa|uat|preprod){_TO})"
    rf"|(?P<token>{_FROM}[A-Za-z0-9]+{_TO})",
    re.IGNORECASE,
)
_COUNTER: Final = re.compile(r"([A-Za-z]*)(\d{1,40})")
"""A number of more digits counts nothing."""
_LAST_WORD: Final = re.compile(r"([A-Za-z]+)[^A-Za-z0-9]*$")
_TOKEN: Final = re.compile(r"[A-Za-z0-9]{4,}")
_PART: Final = re.compile(r"[^\s/:;,|=.()]{8,}")
_UNMISTAKABLE_HOST: Final = re.compile(r"[-_]\d+$|\d\d+$|^\d")

_NOT_COUNTED: Final = re.compile(
    "v|ver|version|rev|ipv|p|q|h|s|r|k|pct|load|avg|mean|max|min|sum|rate|window|last|top|first|level|tier|layer|http|"
    "https|tls|ssl|utf|sha|md|base|int|uint|float|x|ec|oauth|web|db|mp|log|rfc|iso|api|(?:sql|http)?state|"
    "[a-z]*(?:status(?:es)?|codes?|errors?|types?|percentiles?|quantiles?)",
    re.IGNORECASE,
)
"""Words that include a number: p99, ipv6, http_404, load15."""
_LONG_NUMBER: Final = re.compile(r"\d{8,}")
"""Packed dates, times, and IDs; if they are the same in all names, they say nothing about what is measured."""
_BEGUN: Final = re.compile(rf"([A-Za-z]+)[-_]{_LONG_NUMBER.pattern}")
"""A part that says before its long number what it is: `job_1700000000000_17`."""
_LONG_RUN: Final = 50
"""Names numbered without a gap from which on even such a word only counts: 300 columns s001 to s300 are sensors."""


def readings(names: Sequence[str]) -> Iterator[NameReading]:
    """Each distinct name, sorted: dates first, because they may contain dots; then each dotted part, or the whole.

    Only the names beside it show that `2403` is a date, or `40e931` an ID.
    """
    distinct = sorted(set(names))
    dated = _varying(dated_templates(distinct))
    undated = {name: dated.get(name, name) for name in distinct}
    texts = list(undated.values())
    ids, counters = _short_ids(texts), _counters(texts)
    for name, text in undated.items():
        data = [("date", name)] if name in dated else []
        parts = text.split(".")
        if len(parts) < 3:
            template, found = _marked(text, ids.get(text), counters[text])
            yield NameReading(name, template, (*data, *found), None, sure=False)
        else:
            yield _read_dotted(name, parts, data, ids.get(text), counters[text])


def _varying(dated: Mapping[str, str]) -> dict[str, str]:
    """The names with a date, without those in which a long number that could be one is the same in all names with this
    beginning: the start of a cluster is no date of its jobs.
    """
    dates: dict[str, set[str]] = defaultdict(set)
    for name, template in dated.items():
        before, _, after = template.partition("{date}")
        dates[before].add(name[len(before) : len(name) - len(after)])
    names = Counter(template.partition("{date}")[0] for template in dated.values())
    same = {start for start, found in dates.items() if names[start] > 1 and len(found) == 1}
    same = {start for start in same if all(map(_LONG_NUMBER.fullmatch, dates[start]))}
    return {name: template for name, template in dated.items() if template.partition("{date}")[0] not in same}


def _short_ids(texts: Sequence[str]) -> dict[str, str]:
    """Each text to the ID in it that only shows beside others in the same place: of its length, or random as a whole,
    with `-` and `_` as letters.
    """
    columns: dict[tuple[str, int, str], list[tuple[str, str]]] = defaultdict(list)
    for text in dict.fromkeys(texts):
        for pattern in (_PART, _TOKEN):
            for found in pattern.finditer(text):
                length = len(found[0]) if pattern is _TOKEN else 0
                columns[text[: found.start()], length, text[found.end() :]].append((text, found[0]))
    return {
        text: token
        for (_, length, _), column in sorted(columns.items(), key=lambda one: -one[0][1])
        if (are_short_ids if length else are_random_texts)([token for _, token in column])
        for text, token in column
        if not length or any(map(str.isdigit, token))
    }


def _counters(texts: Sequence[str]) -> Mapping[str, set[str]]:
    """Each text to the parts of it that count in names that are otherwise the same: from 0 or 1 without a gap in many
    names, or from any number, with few gaps, if no word but another number stands before it.
    """
    columns: dict[tuple[str, str, str], dict[int, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for text in dict.fromkeys(texts):
        for found in re.finditer(r"[A-Za-z0-9]+", text):
            if counter := _COUNTER.fullmatch(found[0]):
                key = text[: found.start()], counter[1], text[found.end() :]
                columns[key][int(counter[2])].append((text, found[0]))
    counting: dict[str, set[str]] = defaultdict(set)
    for (before, letters, _), numbers in columns.items():
        if _is_run(before + letters, numbers):
            for text, token in itertools.chain(*numbers.values()):
                counting[text].add(token)
    return counting


def _is_run(before: str, numbers: Collection[int]) -> bool:
    count, span = len(numbers), max(numbers) - min(numbers) + 1
    if count >= _LONG_RUN and min(numbers) <= 1 and span == count:
        return True
    return count >= _ENOUGH and count >= FILLED * span and bool(_AFTER_NUMBER.search(before))


_AFTER_NUMBER: Final = re.compile(r"(?:\d|\{date\})[^A-Za-z0-9]+$")


def _read_dotted(
    name: str, parts: Sequence[str], data: list[tuple[str, str]], known_id: str | None, counting: Collection[str]
) -> NameReading:
    words, sure = [], False
    for i, part in enumerate(parts):
        before = parts[i - 1] if i and "{" not in parts[i - 1] else ""
        template, found = _marked(part, known_id, counting, before)
        kinds = [kind for kind, _ in found]
        if found:
            # A part that contains data is data as a whole: the disk `sda1`, the host `web-eu-3`.
            template = "{" + kinds[0] + "}"
            data.append((kinds[0], part))
        sure = sure or "id" in kinds or "region" in kinds or ("host" in kinds and bool(_UNMISTAKABLE_HOST.search(part)))
        words.append(template)
    field = None if "{" in words[-1] or all("{" in w for w in words[:-1]) else parts[-1]
    return NameReading(name, ".".join(words[:-1] if field else words), tuple(data), field, sure)


def _marked(
    text: str, known_id: str | None, counting: Collection[str], before: str = ""
) -> tuple[str, list[tuple[str, str]]]:
    """The text with its data replaced by `{kind}`, and the data. `known_id`, `counting`: the ID in it, and the parts
    with a number that counts, which only show beside the other names. `before`: what precedes it in the name.
    """
    data: list[tuple[str, str]] = []

    def known(kind: str, piece: str) -> str:
        data.append((kind, piece))
        return "{" + kind + "}"

    def mark(found: re.Match[str]) -> str:
        kind, piece = str(found.lastgroup), found[0]
        if kind == "mac" and not re.search("[a-f:]", piece, re.IGNORECASE):
            return piece
        if kind != "token":
            return known({"address": "host", "pod": "id"}.get(kind, kind), piece)
        if is_random(piece):
            return known("id", piece)
        counter = _COUNTER.fullmatch(piece)
        if not counter:
            return piece
        word = _LAST_WORD.search(before + "." + found.string[: found.start()])
        stem = counter[1] or (word[1] if word else "")
        if piece not in counting and (not stem or _NOT_COUNTED.fullmatch(stem)):
            return piece
        return counter[1] + known("n", counter[2])

    def read(piece: str) -> str:
        first, own_id, rest = piece.partition(known_id) if known_id else (piece, "", "")
        return _DATA.sub(mark, first) + (known("id", own_id) + _DATA.sub(mark, rest) if own_id else "")

    # Text in braces was found before.
    pieces = re.split(r"(\{date\})", text)
    return "".join(piece if piece == "{date}" else read(piece) for piece in pieces), data


_FEWEST_KEYS: Final = 8
"""Minimum number of names of one kind; fewer may be a fixed set, such as quarters or sizes."""
_MANY_KEYS: Final = 100
"""Minimum number of names side by side, of which nobody makes so many up."""
_FEW: Final = 0.1
"""Share of the documents up to which a field that is one of many is in few."""
_SAME_FORM: Final = 0.9
"""Share of names that must be alike for all of them to be: names side by side, or things with the same quantities."""
_WHOLE: Final = {"{id}": re.compile(r"[0-9a-f]{24}"), "{n}": re.compile(r"\d{1,23}")}
"""Names that consist only of data: an ObjectId as a string, or a number."""


def keyed_fields(keys: Iterable[str]) -> Iterator[KeyedFields]:
    """The families of such names among the paths of fields, outer ones first. Families inside the reported ones are
    left out.
    """
    reported: set[str] = set()
    for above, names in _siblings(keys):
        if len(names) < _FEWEST_KEYS or is_in(above, reported):
            continue
        whole = {kind: sorted(n for n in names if form.fullmatch(n)) for kind, form in _WHOLE.items()}
        others = sorted(names.keys() - {n for kind in whole.values() for n in kind})
        families = [KeyedFields(above, f.template, f.members) for f in name_families(others)]
        for found in [*families, *(KeyedFields(above, kind, tuple(members)) for kind, members in whole.items())]:
            if len(found.names) >= _FEWEST_KEYS:
                reported.update(found.paths)
                yield found


def keyed_objects(documents: Mapping[str, Collection[int]]) -> Iterator[KeyedFields]:
    """So many names side by side that they are data, whatever they look like: objects that contain the same, or plain
    fields that are in few documents each. Outer ones come first, without those inside them. At the top of documents,
    they may be the fields of many kinds of documents, so their number says nothing there.

    `documents`: the path of each field to the documents that have it.
    """
    reported: set[str] = set()
    for above, names in _siblings(documents):
        if not above or len(names) < _MANY_KEYS or is_in(above, reported):
            continue
        for alike in (_of_one_form(names), _of_few_documents(above, names, documents)):
            if len(alike) >= max(_MANY_KEYS, _SAME_FORM * len(names)):
                found = KeyedFields(above, "{name}", tuple(sorted(alike)))
                reported.update(found.paths)
                yield found
                break


def _of_one_form(names: Mapping[str, Set[str]]) -> list[str]:
    """The objects of which most members are in half of them or more."""
    counts = Counter(itertools.chain(*names.values()))
    common = {member for member, count in counts.items() if 2 * count >= len(names)}
    return [name for name, members in names.items() if 2 * len(members & common) > len(members)]


def _of_few_documents(above: str, names: Collection[str], documents: Mapping[str, Collection[int]]) -> list[str]:
    """The plain fields that are in few of the documents that have any of them."""
    having = {name: documents[path] for name in names if (path := f"{above}.{name}" if above else name) in documents}
    most = _FEW * len(set().union(*having.values()))
    return [name for name, found in having.items() if len(found) <= most]


def _siblings(keys: Iterable[str]) -> list[tuple[str, dict[str, set[str]]]]:
    """Each path with the names directly below it, outer ones first, and what these contain."""
    below: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for key in keys:
        parts = key.split(".")
        for at, part in enumerate(parts):
            below[".".join(parts[:at])][part].update(parts[at + 1 : at + 2])
    return sorted(below.items(), key=lambda one: (one[0].count("."), one[0]))


def named_fields(measurement: Measurement) -> list[Field]:
    """The fields with regular names: names that are data are left out, and so is everything inside them."""
    keyed = {path for found in keyed_fields(field.key for field in measurement.fields) for path in found.paths}
    return [field for field in measurement.fields if not is_in(field.key, keyed)]


def is_in(path: str, others: Collection[str]) -> bool:
    """Whether it is one of the others, or below one of them."""
    return any(above in others for above in itertools.accumulate(path.split("."), "{}.{}".format))


STATISTIC: Final = re.compile(
    r"(n|num|count|counter|sum|mean|avg|average|median|min|minimum|max|maximum|upper|lower|std|stddev|std_dev|var"
    r"|variance|first|last|value|gauge|rate|delta|histogram"
    r"|(m\d+|mean|one_minute|five_minute|fifteen_minute)_?rate"
    r"|(upper|lower|mean|sum|count|p|pct|percentile|quantile)?_?\d+(_?\d+)?(_?(pct|percentile|th|ile))?|sum_squares)",
    re.IGNORECASE,
)
"""Of fields."""
SUFFIX: Final = re.compile(rf"total|bucket|created|info|{STATISTIC.pattern}", re.IGNORECASE)
"""The same at the end of the names of metrics, as OpenMetrics has them."""


_SEPARATORS: Final = re.compile(r"[\W_]+")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
FEWEST: Final = 12
"""Names of a grid: two directions of three counters are part of many schemas."""
_LEAST_FILLED: Final = 0.6
"""Share of all combinations: words that merely follow each other fill a small part."""
_LONGEST: Final = 4
"""Fewest words in one of the places: shorter lists are often the parts of one thing."""
_MANY: Final = 24
"""Names from which short lists, such as three sites with three machines and three quantities each, are enough."""
_JOINTS: Final = "_-./: |"
_RESOLUTION: Final = re.compile(
    r"\d+(ms|s|sec|m|mi|min|h|hr|d|w|mo|y)|raw|(per)?(second|minute|hour|day|week|month|quarter|year)s?"
    r"|(minute|hour|week|month|quarter|year)ly|daily|agg|total|all",
    re.IGNORECASE,
)
"""Words of the same readings at several resolutions, which are tables of their own on purpose."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Names that combine words from several lists."""

    template: str
    """The name with `{first_part}` and so on for each varying place."""
    members: tuple[str, ...]
    """Sorted."""
    measurement: str
    """The suggested name for all of them: the words that do not vary; empty if all do."""
    names: tuple[str, ...]
    """Of the varying places."""
    rows: tuple[tuple[str, ...], ...]
    """The words of each member at these places."""

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """All words of each varying place, sorted."""
        return tuple(tuple(sorted(set(column))) for column in zip(*self.rows, strict=True))

    @property
    def parts(self) -> tuple[ColumnPart, ...]:
        """The varying places, with the word of the first member."""
        return tuple(map(ColumnPart, self.names, self.rows[0]))

    @property
    def family(self) -> NameFamily:
        """The same as a family of names."""
        return NameFamily(self.template, self.members, self.measurement or "readings", self.parts, None)

    def parsed_names(self) -> Iterator[Merged]:
        """The words of each member."""
        for name, words in zip(self.members, self.rows, strict=True):
            yield Merged(name, tuple(zip(self.names, words, strict=True)))


def grids(names: Collection[str], *, strong_only: bool = False) -> list[Grid]:
    """The grids among names, by template: at least two places vary, and most combinations exist.

    `strong_only`: only characters that no word contains separate words: `.`, `/`, `:`, `|`, and blanks.
    """
    if strong_only:
        names = [name for name in names if re.search(r"[./:| ]", name)]
    found = (_grid(group) for group in _alike(names).values() if len(group) >= FEWEST)
    return sorted((grid for grid in found if grid is not None and _is_filled(grid)), key=lambda g: g.template)


def word_lists(names: Collection[str]) -> list[Grid]:
    """Lists of names that are the same but for one word, by template; for tables known to have the same columns."""
    found: list[Grid] = []
    for group in _alike(names).values():
        grid = _grid(group) if len(group) >= A_LIST else None
        if grid is not None and len(grid.parts) == 1 and grid.measurement and not _are_resolutions(grid.words[0]):
            found.append(grid)
    return sorted(found, key=lambda g: g.template)


def _name_resolutions(names: Collection[str]) -> bool:
    """Whether most names contain one, as in `flow_1h` and `flow_raw`."""
    return 2 * sum(any(map(_RESOLUTION.fullmatch, _split(name)[0])) for name in names) > len(names)


def _are_resolutions(words: Sequence[str]) -> bool:
    return 2 * sum(bool(_RESOLUTION.fullmatch(word)) for word in words) > len(words)


def whole_list(names: Collection[str]) -> list[Grid]:
    """All names as one list, if there are enough; for tables of readings known to have the same columns."""
    if len(names) < A_LIST or _name_resolutions(names):
        return []
    ordered = tuple(sorted(names))
    return [Grid(f"{{{place_name(0)}}}", ordered, "", (place_name(0),), tuple((name,) for name in ordered))]


def quantities_of_things(names: Collection[str]) -> list[Grid]:
    """Names of things, each with the same quantities: `dag_<dag>_<task>_duration`, `dag_<dag>_<task>_delay`.

    The names of the things are of any number of words, so there has to be a word before them that they share.
    """
    things: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for found in _SEPARATORS.finditer(name):
            if not SUFFIX.fullmatch(name[found.end() :]):
                things[name[found.start() :]].add(name[: found.start()])
    of = {quantity: _shortest(heads) for quantity, heads in things.items() if len(heads) >= FEWEST}
    first = max(sorted(of), key=lambda quantity: len(of[quantity]), default=None)
    if first is None or len(of[first]) < FEWEST:
        return []
    alike = [q for q, heads in of.items() if len(heads & of[first]) >= _SAME_FORM * len(heads | of[first])]
    both = set.intersection(*(of[quantity] for quantity in alike))
    before = beginning(list(both)) if both else ""
    before = before[: max((found.end() for found in _SEPARATORS.finditer(before)), default=0)]
    if len(alike) < 2 or len(both) < FEWEST or not before:
        return []
    words = {head + q: (head[len(before) :], q.strip(_JOINTS)) for q in alike for head in both}
    members = tuple(sorted(words))
    joint = first[: len(first) - len(first.lstrip(_JOINTS))]
    rows = tuple(words[name] for name in members)
    names_of = (place_name(0), place_name(1))
    template = f"{before}{{{names_of[0]}}}{joint}{{{names_of[1]}}}"
    return [Grid(template, members, before.strip(_JOINTS).lower(), names_of, rows)]


def _shortest(heads: Collection[str]) -> set[str]:
    """Those that do not begin with another one and a separator: of `job` and `job_queued`, both before `_time`."""
    return {head for head in heads if not any(head[: found.start()] in heads for found in _SEPARATORS.finditer(head))}


def _alike(names: Collection[str]) -> dict[tuple[str, ...], list[str]]:
    """Names with the same separators, and so with as many words."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(names):
        words, separators = _split(name)
        if len(words) > 1:
            groups[separators].append(name)
    return groups


def _split(name: str) -> tuple[list[str], tuple[str, ...]]:
    """The words of a name and what separates them; changes of case, if nothing else does."""
    separators = tuple(_SEPARATORS.findall(name))
    if separators:
        return _SEPARATORS.split(name), separators
    return _HUMPS.split(name), ("^",) * len(_HUMPS.findall(name))


def _grid(names: Sequence[str]) -> Grid | None:
    split = [_split(name)[0] for name in names]
    columns = [sorted(set(column)) for column in zip(*split, strict=True)]
    varying = [place for place, words in enumerate(columns) if len(words) > 1]
    if not varying:
        return None
    fixed = [words[0] for words in columns if len(words) == 1]
    separators = [s.replace("^", "") for s in _split(names[0])[1]]
    pieces = [f"{{{place_name(place)}}}" if place in varying else words[0] for place, words in enumerate(columns)]
    template = "".join(piece + separator for piece, separator in zip(pieces, [*separators, ""], strict=True))
    return Grid(
        template=template,
        members=tuple(names),
        measurement="_".join(word.lower() for word in fixed if word),
        names=tuple(map(place_name, varying)),
        rows=tuple(tuple(words[place] for place in varying) for words in split),
    )


def _is_filled(grid: Grid) -> bool:
    sizes = [len(words) for words in grid.words]
    is_long = max(sizes) >= _LONGEST or len(grid.members) >= _MANY
    return len(sizes) > 1 and is_long and len(grid.members) >= _LEAST_FILLED * math.prod(sizes)
