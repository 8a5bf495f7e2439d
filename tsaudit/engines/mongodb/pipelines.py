"""Stages of a pipeline that turn stored documents into what they are to be. No value that does not fit is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.rewriting import Column, Rewriting
from tsaudit.model.change import SplitColumn

_TYPES: Final = {"integer": "long", "float": "double", "boolean": "bool", "time": "date"}
MAY_BE: Final[Mapping[str, tuple[str, ...]]] = {
    "integer": ("long", "int"),
    "float": ("double",),
    "boolean": ("bool",),
    "time": ("date",),
}
"""Kind of values to the types that they may have, as `$type` names them; the usual one first."""
_TRUE: Final = ("true", "t", "yes", "y", "on", "1")
_FALSE: Final = ("false", "f", "no", "n", "off", "0")

Stage = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Meta:
    """The metaField of a time series collection."""

    name: str
    """Empty: none."""
    is_document: bool = True
    """Whether tags are fields within it; else it is the only tag itself."""

    def path(self, tag: str) -> str:
        """Where a tag is, by the name that it has been given."""
        return f"{self.name}.{tag.rpartition('.')[2]}" if self.is_document else self.name


def meta_of(rewrite: Rewriting, meta_field: str) -> Meta:
    """The metaField of the new collection. `meta_field`: the present one, empty for none."""
    tags = rewrite.tags
    if not tags:
        return Meta("")
    own = [tag for tag in tags if tag.old == meta_field]
    if len(tags) == 1 and own and tags[0].split is None:
        return Meta(own[0].new, is_document=False)
    if meta_field and all(tag.old.startswith(f"{meta_field}.") for tag in tags if tag.was_tag):
        return Meta(meta_field)
    taken = {column.new for column in rewrite.columns} | {column.old for column in rewrite.columns}
    return Meta(next(name for name in ("meta", *(f"meta_{n}" for n in range(2, len(taken) + 3))) if name not in taken))


def home(column: Column, meta: Meta) -> str:
    """The path of a column in the new collection."""
    if column.is_tag and meta.name:
        return meta.path(column.new)
    if column.was_tag and not column.is_tag:
        return column.new.rpartition(".")[2]
    return column.new


def stages(rewrite: Rewriting, target: str, meta: Meta) -> list[Stage]:
    """What the documents of one new collection go through, after those of a day are chosen."""
    wanted = [*rewrite.tags, *rewrite.fields_of(target)]
    values, gone = dict[str, Any](), list[str]()
    for column in wanted:
        path = home(column, meta)
        if column.split is not None:
            values |= _parts(column, column.split, meta)
            if column.is_tag and meta.path(column.old) != column.old:
                gone.append(column.old)
        elif column.to:
            values[path] = converted(column)
        elif path != column.old:
            values[path] = f"${column.old}"
        if column.split is None and path != column.old:
            gone.append(column.old)
    # Every collection has the _id, by which a repeated copy knows its documents, and the time.
    kept = {DOCUMENT_ID, rewrite.place.here.time_column}
    gone += [column.old for column in rewrite.columns if column not in wanted and column.old not in kept]
    found: list[Stage] = []
    if rewrite.moved and target != rewrite.new:
        found.append({"$match": {"$or": [{c.old: {"$exists": True}} for c in rewrite.fields_of(target)]}})
    if values:
        found.append({"$set": values})
    if gone:
        found.append({"$unset": sorted(_outermost(gone))})
    return found


def clashes(pipeline: Sequence[Stage]) -> list[str]:
    """Paths that lie within other ones that are changed too: one stage cannot change both."""
    paths = [path for stage in pipeline for path in (*stage.get("$set", ()), *stage.get("$unset", ()))]
    return sorted({path for path in paths for other in paths if path.startswith(f"{other}.")})


def _outermost(paths: Sequence[str]) -> Iterator[str]:
    yield from (path for path in dict.fromkeys(paths) if not any(path.startswith(f"{other}.") for other in paths))


def converted(column: Column) -> Any:
    """The value with its new type, or as it is if it does not convert."""
    value = f"${column.old}"
    texts = [kind for kind in column.types if kind == "string"] or (["string"] if column.was_tag else [])
    if column.to == "boolean":
        text = {"$toLower": {"$convert": {"input": value, "to": "string", "onError": "", "onNull": ""}}}
        cases = [
            {"case": {"$in": [text, list(words)]}, "then": found} for words, found in ((_TRUE, True), (_FALSE, False))
        ]
        return {"$switch": {"branches": cases, "default": value}}
    made = {"$convert": {"input": value, "to": _TYPES[column.to], "onError": value, "onNull": value}}
    if column.to == "integer" and not texts:
        # A fraction would be cut off.
        return {"$cond": [{"$eq": [value, {"$trunc": value}]}, made, value]}
    return made


def _parts(column: Column, split: SplitColumn, meta: Meta) -> dict[str, Any]:
    """A value of another form stays whole, under its old name."""
    fits = fitting(column.old, split)
    found: dict[str, Any] = {}
    for number, part in enumerate(split.parts):
        path = meta.path(part.name) if column.is_tag and meta.name else part.name
        found[path] = {"$cond": [fits, _piece(column.old, split, number), "$$REMOVE"]}
    whole = meta.path(column.old) if column.is_tag and meta.name else column.old
    return found | {whole: {"$cond": [fits, "$$REMOVE", f"${column.old}"]}}


def fitting(column: str, split: SplitColumn) -> Any:
    """A condition for values of the form of the example."""
    joined: list[Any] = []
    for number, (text, part) in enumerate(zip(split.example.split(split.separator), split.parts, strict=False)):
        before = text[: len(text) - len(part.example)]
        joined += [_literal(split.separator)] if number else []
        joined += [_literal(before)] if before else []
        joined.append(_piece(column, split, number))
    is_text = {"$eq": [{"$type": f"${column}"}, "string"]}
    return {"$cond": [is_text, {"$eq": [{"$concat": joined}, f"${column}"]}, False]}


def can_split(split: SplitColumn) -> bool:
    """Whether each piece of the example ends with the value of its part."""
    texts = split.example.split(split.separator)
    ends = all(text.endswith(part.example) for text, part in zip(texts, split.parts, strict=False))
    return len(texts) == len(split.parts) and ends


def _piece(column: str, split: SplitColumn, number: int) -> Any:
    text, part = split.example.split(split.separator)[number], split.parts[number]
    piece = {"$arrayElemAt": [{"$split": [f"${column}", _literal(split.separator)]}, number]}
    before = len(text) - len(part.example)
    return {"$substrCP": [piece, before, {"$strLenCP": {"$ifNull": [piece, ""]}}]} if before else piece


def _literal(text: str) -> Any:
    return {"$literal": text} if text.startswith("$") else text
