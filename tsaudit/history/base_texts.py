"""Compression of the texts in the history, as differences from one base text for each target and calendar month.

An audit's profile and result repeat nearly everything that an earlier audit of the target wrote. With an earlier text
as the dictionary, a day takes a few hundred bytes where its text alone takes 20 kB. The first audit of a month that
measures something provides the month's base, which stays unchanged until no day of the month is left. The first base of
a year is stored by itself, and the year's other bases as differences from it. Texts that were packed without a base can
also be unpacked by a packer that has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date
from functools import cached_property
from typing import Final

import zstandard
from sqlalchemy import Connection, delete, insert, select

from tsaudit.history.schema import base_text

LARGEST_BASE: Final = 1 << 26
"""Bytes. A base and a text of this length together fit into the largest window that zstd reads without a special
setting.
"""

_LEVEL: Final = 10
"""For a text that is mostly in its base, level 6 is hardly faster, and level 12 takes ten times as long."""
_LARGEST_WINDOW: Final = 27
_SMALLEST_WINDOW: Final = 17


class Packer:
    """Packs and unpacks texts that share a base. Not thread-safe.

    `base`: at most `LARGEST_BASE` bytes; empty for texts that are packed by themselves.
    """

    def __init__(self, base: bytes = b"") -> None:
        self._base = base

    def packed(self, text: bytes) -> bytes:
        """The compressed text, with a checksum."""
        return self._compressor.compress(text)

    def packed_parts(self, parts: Iterable[bytes], size: int) -> bytes:
        """The same for a text in parts, which need not be in memory together. `size`: of all of them, in bytes."""
        compressing = self._compressor.compressobj(size=size)
        return b"".join([*map(compressing.compress, parts), compressing.flush()])

    def unpacked(self, data: bytes) -> bytes:
        """The text that was packed with this base, or without one. Raises ValueError if the data is damaged or was
        packed with another base.
        """
        try:
            return self._decompressor.decompress(data)
        except zstandard.ZstdError as error:
            raise ValueError(f"cannot be decompressed: {error}") from error

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        # The window must be large enough for the text and the base; zstd ignores what is further back.
        window = min(max((2 * len(self._base)).bit_length() + 1, _SMALLEST_WINDOW), _LARGEST_WINDOW)
        settings = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, dict_size=len(self._base), window_log=window, write_checksum=1
        )
        found = self._dictionary
        if found is not None:
            # Without this, the base would be indexed again for every text, although the text of an incident is much
            # shorter.
            found.precompute_compress(compression_params=settings)
        return zstandard.ZstdCompressor(dict_data=found, compression_params=settings)

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor(dict_data=self._dictionary)

    @property
    def _dictionary(self) -> zstandard.ZstdCompressionDict | None:
        return zstandard.ZstdCompressionDict(self._base, zstandard.DICT_TYPE_RAWCONTENT) if self._base else None


class Packers:
    """The packers for several targets and days, within one transaction. Only the most recent packer is cached, because
    base texts can be long.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._month: tuple[str, date] | None = None
        self._packer = Packer()

    def of(self, target: str, day: date) -> Packer:
        """The packer of the target's month; without a base if there is none, or if it is damaged."""
        month = (target, month_of(day))
        if self._month != month:
            self._month, self._packer = month, Packer(_base(self._connection, *month) or b"")
        return self._packer


def packer_for(connection: Connection, target: str, day: date, text: bytes | None) -> Packer:
    """The packer of the target's month. `text` becomes the month's base if the month has none yet; None: never."""
    month = month_of(day)
    base = _base(connection, target, month)
    if base is None and text is not None and len(text) <= LARGEST_BASE:
        of_year = base_text.c.month.between(date(day.year, 1, 1), date(day.year, 12, 1))
        first = select(base_text.c.month).where(base_text.c.target == target, of_year, base_text.c.root.is_(None))
        root = connection.execute(first).scalar()
        data = Packer(_base(connection, target, root) or b"").packed(text)
        connection.execute(insert(base_text).values(target=target, month=month, data=data, root=root))
        base = text
    return Packer(base or b"")


def month_of(day: date) -> date:
    """The first day of the day's month."""
    return day.replace(day=1)


def prune(connection: Connection, target: str, days: Collection[date]) -> None:
    """Delete the target's bases that no text of these days needs."""
    months = {month_of(day) for day in days}
    mine = base_text.c.target == target
    rows = connection.execute(select(base_text.c.month, base_text.c.root).where(mine)).all()
    needed = months | {row.root for row in rows if row.month in months}
    for month in {row.month for row in rows} - needed:
        connection.execute(delete(base_text).where(mine, base_text.c.month == month))


def _base(connection: Connection, target: str, month: date | None) -> bytes | None:
    """The month's base; None if there is none, empty if it is damaged."""
    columns = (base_text.c.data, base_text.c.root)
    query = select(*columns).where(base_text.c.target == target, base_text.c.month == month)
    row = connection.execute(query).one_or_none() if month else None
    if row is None:
        return None
    try:
        return Packer(_base(connection, target, row.root) or b"").unpacked(row.data)
    except ValueError:
        return b""
