"""The values of a column as strings, whatever their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER: Final = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
"""A string that is a number."""
_DECIMAL: Final = r"[+-]?\d+\.\d+"
_DECIMALS: Final = rf"^\s*[(\[]?{_DECIMAL}(\s*[,;|/ ]\s*{_DECIMAL})+[)\]]?\s*$"
"""Several numbers with a fraction, such as a position: whole numbers may as well be codes."""
PLACEHOLDER: Final = r"^\s*(-+|[nN]/?[aA]|(?i:null|none|nil|nan|undefined)|\\N|\?+)?\s*$"
"""A string that stands for no value. States such as `unknown` do not: somebody may look for them."""


def number_share(texts: pa.ChunkedArray) -> float:
    """The share of the strings that are numbers, without null and what stands for it; 0 if nothing is left."""
    return _share(texts, NUMBER)


def measured_share(texts: pa.ChunkedArray) -> float:
    """The same for strings that are one or several numbers: none of them names the source of a row."""
    return _share(texts, f"{NUMBER}|{_DECIMALS}")


def _share(texts: pa.ChunkedArray, pattern: str) -> float:
    import pyarrow.compute as pc

    said = texts.filter(pc.invert(pc.match_substring_regex(texts, PLACEHOLDER)))
    return float(pc.mean(pc.match_substring_regex(said, pattern).cast("float64")).as_py()) if len(said) else 0.0


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as strings; types that Arrow cannot convert are converted by Python."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
