"""Finds names of measurements, tables, or keys that differ only in embedded data.

Names such as `Cpu.server-5.us-west.usage_user` should be one measurement `cpu` with tags; `events_2024_01` and
`events_2024_02` should be one table, because its rows have timestamps.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.shapes.attributes import Part
from tsaudit.analysis.shapes.periods import PeriodFamily, period_families
from tsaudit.analysis.shapes.shape_rules import is_random


@dataclass(frozen=True, slots=True)
class NameFamily:
    """Names that are the same except for embedded data, and what to use instead."""

    template: str
    """The name with each piece of data replaced by its kind in braces: `{date}`, `{host}`, `{region}`, `{id}`, `{env}`,
    `{n}` for a number; `{field}` if the last part names what is measured and varies.
    """
    members: tuple[str, ...]
    """The names, sorted."""
    measurement: str
    """The suggested name for all of them."""
    tags: tuple[Part, ...]
    """The suggested tags, with their values for the first member. None for a date: every row has a timestamp."""
    field: str | None
    """What the first member measures, if its last part says so."""


def name_families(names: Sequence[str]) -> list[NameFamily]:
    """The families among the names, sorted by template; each name is in one family at most.

    A single name is a family of its own only if it has at least three dotted parts, one of which is clearly a host,
    region, or ID.
    """
    groups: dict[tuple[str, ...], list[_Reading]] = defaultdict(list)
    dated = _dated(names)
    plain: list[str] = []
    for name in sorted(set(names)):
        reading = _read(name, dated.get(name))
        if reading.data:
            groups[reading.key].append(reading)
        else:
            plain.append(name)
    for group in groups.values():
        more = list(_of_the_same_ids(group, plain))
        plain = [name for name in plain if all(name != reading.name for reading in more)]
        group[:] = sorted([*group, *more], key=lambda reading: reading.name)
    families = [_family(group) for group in groups.values() if _is_meant(group)]
    return sorted(families, key=lambda f: f.template)


def _of_the_same_ids(group: Sequence[_Reading], names: Sequence[str]) -> Iterator[_Reading]:
    """Names with an ID where the group has one of the same length, which alone could be a number or a word."""
    lengths = {len(text) for reading in group for _, text in reading.data}
    if {kind for reading in group for kind, _ in reading.data} != {"id"} or len(lengths) > 1 or group[0].field:
        return
    if len(group) < _ENOUGH_IDS:
        return
    for name in names:
        found = _with_id(name, group[0].template)
        if found is not None and len(found.data[0][1]) in lengths and re.search(r"\d", found.data[0][1]):
            yield found


def _with_id(name: str, template: str) -> _Reading | None:
    """The name read by a template with nothing but one ID; None if it has other data, or the name is another one."""
    before, mark, after = template.partition("{id}")
    if not mark or "{" in before + after:
        return None
    found = re.fullmatch(rf"{re.escape(before)}([0-9a-zA-Z]+){re.escape(after)}", name)
    return _Reading(name, template, (("id", found[1]),), None, sure=False) if found else None


@dataclass(frozen=True, slots=True)
class _Reading:
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
        # Members of a family may measure different things, so the field does not matter.
        return (self.template, "" if self.field is None else "field")


_DIRECTIONS: Final = "north|south|east|west|central|northeast|southeast|northwest|southwest"
_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_YEAR: Final = r"(?:19[7-9]\d|20\d\d)"
_MONTH: Final = r"(?:0[1-9]|1[0-2])"
_DAY: Final = r"(?:0[1-9]|[12]\d|3[01])"
_FROM: Final = r"(?<![A-Za-z0-9])"
_TO: Final = r"(?![A-Za-z0-9])"

_DATE: Final = re.compile(
    rf"(?<!\d){_YEAR}(?P<s>[-_.]?){_MONTH}(?P=s){_DAY}(?:[-_T.]?(?:[01]\d|2[0-3]))?{_TO}"
    rf"|(?<!\d){_YEAR}[-_.]?(?:{_MONTH}|[wW]\d\d|[qQ][1-4]){_TO}"
    rf"|{_FROM}(?:{_MONTHS})[-_.]?{_YEAR}{_TO}|{_FROM}{_YEAR}[-_.]?(?:{_MONTHS}){_TO}"
    rf"|{_FROM}{_YEAR}{_TO}",
    re.IGNORECASE,
)
_DATA: Final = re.compile(
    rf"(?P<id>{_FROM}[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}{_TO})"
    rf"|(?P<address>{_FROM}(?:ip[-_])?\d{{1,3}}(?:[-_.]\d{{1,3}}){{3}}{_TO})"
    rf"|(?P<region>{_FROM}(?:us|eu|ap|sa|ca|me|af|cn|il|mx|uk|europe|asia|australia|northamerica|southamerica)"
    rf"[-_](?:gov[-_])?(?:{_DIRECTIONS})(?:[-_]?\d{{1,2}}(?:-?[a-f])?)?{_TO})"
    rf"|(?P<host>{_FROM}(?:[a-z]+-)*(?:host|server|srv|node|web|db|vm|worker|machine|instance|broker|proxy|gateway|"
    rf"router|switch|edge)[-_]?\d{{1,6}}{_TO})"
    rf"|(?P<env>{_FROM}(?:prod|production|staging|stage|stg|dev|development|test|testing|qa|uat|preprod){_TO})"
    rf"|(?P<token>{_FROM}[A-Za-z0-9]+{_TO})",
    re.IGNORECASE,
)
_COUNTER: Final = re.compile(r"([A-Za-z]*)(\d{1,9})")
_LAST_WORD: Final = re.compile(r"([A-Za-z]+)[^A-Za-z0-9]*$")
_LAST_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9]+")
_UNMISTAKABLE_HOST: Final = re.compile(r"[-_]\d+$|\d\d+$|^\d")

_NOT_COUNTED: Final = re.compile(
    "v|ver|version|rev|ipv|p|q|h|s|r|k|pct|percentile|quantile|load|avg|mean|max|min|sum|rate|window|last|top|first|"
    "level|tier|layer|http|https|status|code|error|utf|sha|md|base|int|uint|float|x|ec|oauth|web|db|mp|log|rfc|iso|api",
    re.IGNORECASE,
)
"""Words that include a number: p99, ipv6, http_404, load15."""

_FEWEST: Final = {"n": 3}
"""Number of names that make a family, by kind of data; two for all others."""

_ENOUGH_IDS: Final = 5
"""Names that contain an ID beyond doubt: from so many on, one more of the same length is believed to."""


def _dated(names: Sequence[str]) -> dict[str, PeriodFamily]:
    """Each name of a period family, to its family."""
    return {period.name: family for family in period_families(names) for period in family.members}


def _read(name: str, dated: PeriodFamily | None) -> _Reading:
    """Splits a name: dates first, because they may contain dots; then each dotted part, or the name as a whole.

    `dated`: the period family of the name. Only the family shows that `2403` is a date.
    """
    data: list[tuple[str, str]] = []

    def date(found: re.Match[str]) -> str:
        data.append(("date", found[0]))
        return "{date}"

    undated = _DATE.sub(date, name)
    if not data and dated is not None:
        undated = dated.template.replace("{" + dated.unit + "}", "{date}")
        data.append(("date", name))
    parts = undated.split(".")
    if len(parts) < 3:
        template, found = _marked(undated)
        return _Reading(name, template, (*data, *found), None, sure=False)
    return _read_dotted(name, parts, data)


def _read_dotted(name: str, parts: Sequence[str], data: list[tuple[str, str]]) -> _Reading:
    words, sure = [], False
    for part in parts:
        template, found = _marked(part)
        kinds = [kind for kind, _ in found]
        if found:
            # A part that contains data is data as a whole: the disk `sda1`, the host `web-eu-3`.
            template = "{" + kinds[0] + "}"
            data.append((kinds[0], part))
        sure = sure or "id" in kinds or "region" in kinds or ("host" in kinds and bool(_UNMISTAKABLE_HOST.search(part)))
        words.append(template)
    field = None if "{" in words[-1] or all("{" in w for w in words[:-1]) else parts[-1]
    return _Reading(name, ".".join(words[:-1] if field else words), tuple(data), field, sure)


def _marked(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text with its data replaced by `{kind}`, and the data."""
    data: list[tuple[str, str]] = []

    def mark(found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        if kind == "token":
            return _marked_token(found, data)
        kind = "host" if kind == "address" else kind
        data.append((kind, found[0]))
        return "{" + kind + "}"

    # Text in braces was found before.
    return "".join(p if p.startswith("{") else _DATA.sub(mark, p) for p in re.split(r"(\{date\})", text)), data


def _marked_token(found: re.Match[str], data: list[tuple[str, str]]) -> str:
    token = found[0]
    if is_random(token):
        data.append(("id", token))
        return "{id}"
    counter = _COUNTER.fullmatch(token)
    if not counter:
        return token
    before = _LAST_WORD.search(found.string[: found.start()])
    stem = counter[1] or (before[1] if before else "")
    if not stem or _NOT_COUNTED.fullmatch(stem):
        return token
    data.append(("n", counter[2]))
    return counter[1] + "{n}"


def _is_meant(group: Sequence[_Reading]) -> bool:
    """Whether the names are alike by design and not by coincidence, given their number."""
    if any(reading.sure for reading in group):
        return True
    kinds = {kind for kind, _ in group[0].data}
    differ = len({reading.data for reading in group})
    fewest = min(_FEWEST.get(kind, 2) for kind in kinds)
    # A number without a separator before it, as in `cpu0`, is more often part of the word.
    return differ >= fewest + (kinds == {"n"} and not re.search(r"[^A-Za-z0-9]\{n\}", group[0].template))


def _family(group: Sequence[_Reading]) -> NameFamily:
    first = group[0]
    fields = {reading.field for reading in group}
    last = "" if first.field is None else f".{first.field}" if len(fields) == 1 else ".{field}"
    measurement, field = _proposed_name(first)
    return NameFamily(
        template=first.template + last,
        members=tuple(reading.name for reading in group),
        measurement=measurement,
        tags=tuple(_proposed_tags(first.data)),
        field=field,
    )


def _proposed_name(reading: _Reading) -> tuple[str, str | None]:
    """The words of the name that are not data; the field, too, if nothing else is left."""
    words = [w for w in _LAST_SEPARATORS.split(re.sub(r"\{\w+\}", ".", reading.template)) if w]
    if "." in reading.template:
        words = [w.lower() for w in words]
    if words:
        return "_".join(words), reading.field
    return reading.field or "measurement", None


def _proposed_tags(data: Sequence[tuple[str, str]]) -> Iterator[Part]:
    seen: dict[str, int] = defaultdict(int)
    for position, (kind, text) in enumerate((d for d in data if d[0] != "date"), 1):
        name = f"part_{position}" if kind == "n" else kind
        seen[name] += 1
        yield Part(name if seen[name] == 1 else f"{name}_{seen[name]}", text)


@dataclass(frozen=True, slots=True)
class Told:
    """What one name contains."""

    name: str
    tags: tuple[tuple[str, str], ...]
    """The tags that its family suggests, with their values in this name."""
    field: str
    """What it measures; empty if the name does not say so."""


def told_by(family: NameFamily) -> Iterator[Told]:
    """The data in the name of each member."""
    dated = _dated(family.members)
    for name in family.members:
        reading = _read(name, dated.get(name))
        reading = reading if reading.data else _with_id(name, family.template) or reading
        tags = tuple((part.name, part.example) for part in _proposed_tags(reading.data))
        yield Told(name, tags, (reading.field or "") if family.field else "")
