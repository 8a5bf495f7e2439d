"""A compact encoding of columns of numbers, with versions and a checksum: the storage format of value sets.

Arrow's IPC format would need less code but more space: most rows in the history are days on which the values of a tag
did not change, which take 52 bytes here and 330 there, and a whole set of a million values takes 18% more.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

FORMAT_VERSION: Final = 1
BASE: Final = b"B"
DELTA: Final = b"D"

_WORDS: Final = {BASE: "whole set", DELTA: "day's delta"}
_START: Final = struct.Struct("<cBB")
"""Base or delta, format version, hash version."""
_CHECKSUM: Final = struct.Struct("<I")
_RAW: Final = -zlib.MAX_WBITS
"""Raw deflate, without zlib's own header and checksum."""

Numbers = npt.NDArray[np.uint64]


def ascending(numbers: Numbers, width: int) -> list[bytes]:
    """The differences between ascending numbers, as `planes`: the more numbers, the more of the high bytes are zero."""
    return planes(np.diff(numbers, prepend=np.uint64(0)), width)


def from_ascending(data: bytes, width: int) -> Numbers:
    """The numbers that `ascending` encoded."""
    return np.cumsum(from_planes(data, width), dtype=np.uint64)


def planes(numbers: npt.NDArray[Any], width: int) -> list[bytes]:
    """All lowest bytes, then all second bytes, and so on, `width` of them."""
    return [plane.tobytes() for plane in numbers.astype("<u8").view(np.uint8).reshape(-1, 8).T[:width]]


def from_planes(data: bytes, width: int) -> Numbers:
    """The numbers that `planes` encoded, given its concatenated output."""
    wide = np.zeros((len(data) // width, 8), np.uint8)
    wide[:, :width] = np.frombuffer(data, np.uint8).reshape(width, -1).T
    return wide.view("<u8").ravel().astype(np.uint64)


def sealed(kind: bytes, hash_version: int, head: bytes, columns: Iterable[bytes]) -> bytes:
    """The compressed columns with a header before and a checksum after them."""
    data = _START.pack(kind, FORMAT_VERSION, hash_version) + head + _deflated(columns)
    return data + _CHECKSUM.pack(zlib.crc32(data))


def opened(data: bytes, kind: bytes, hash_version: int, head: struct.Struct) -> tuple[tuple[Any, ...], bytes]:
    """The numbers in the header and the compressed columns of the output of `sealed`. ValueError for anything else."""
    if len(data) < _START.size + _CHECKSUM.size:
        raise damaged(f"{len(data)} bytes are too few")
    content, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
    found, version, hashed = _START.unpack_from(content)
    if found not in _WORDS:
        raise damaged("they do not start like a value set")
    if (version, hashed) != (FORMAT_VERSION, hash_version):
        raise ValueError(
            f"value set: format {version} with hash {hashed} is unknown; this version of tsaudit reads "
            f"format {FORMAT_VERSION} with hash {hash_version}"
        )
    if _CHECKSUM.pack(zlib.crc32(content)) != checksum:
        raise damaged("their checksum does not match")
    if found != kind:
        raise ValueError(f"value set: expected a {_WORDS[kind]}, got a {_WORDS[found]}")
    if len(content) < _START.size + head.size:
        raise damaged(f"{len(data)} bytes are too few")
    return head.unpack_from(content, _START.size), content[_START.size + head.size :]


def unpacked(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The columns, which have these sizes in bytes. ValueError if the body has others; a decompression bomb is not
    expanded.
    """
    size, inflate = sum(sizes), zlib.decompressobj(_RAW)
    try:
        data = inflate.decompress(body, size + 1)
    except zlib.error as error:
        raise damaged("they do not decompress") from error
    if len(data) != size:
        raise damaged(f"not the {size} bytes they declare")
    return [data[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]


def damaged(what: str) -> ValueError:
    """The error to raise for bytes that tsaudit cannot have written."""
    return ValueError(f"value set: the stored bytes are damaged: {what}")


def _deflated(columns: Iterable[bytes]) -> bytes:
    """Uses a separate Huffman code for each column, so that random bytes do not affect regular columns.

    The only repetitions in the columns are runs, and searching only for runs is 40 times as fast.
    """
    deflate = zlib.compressobj(9, wbits=_RAW, strategy=zlib.Z_RLE)
    parts = [deflate.compress(column) + deflate.flush(zlib.Z_SYNC_FLUSH) for column in columns if column]
    return b"".join(parts) + deflate.flush()
