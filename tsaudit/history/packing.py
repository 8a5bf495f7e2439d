"""Compression of the texts in the history: as what differs from a base text, if there is one.

An audit's profile and result repeat nearly everything that an earlier audit of the target wrote. With one earlier text
as the dictionary, a day takes a few hundred bytes where its text alone takes 20 kB. Each text needs only its base,
never the days in between. Pure; `base_texts` stores the bases.
"""

from __future__ import annotations

import zlib
from functools import cached_property
from typing import Final

import zstandard

LARGEST_BASE: Final = 1 << 26
"""Bytes. A base and a text of this length are within the largest window that zstd reads without being asked to."""

_LEVEL: Final = 10
"""For a text that is mostly in its base, level 6 is hardly faster, and 12 takes ten times as long."""
_LARGEST_WINDOW: Final = 27
_SMALLEST_WINDOW: Final = 17


class Packer:
    """Packs and unpacks texts that share a base. Not for several threads at once.

    `base`: empty for texts that are packed by themselves, and at most `LARGEST_BASE` bytes.
    """

    def __init__(self, base: bytes = b"") -> None:
        self._base = base

    def packed(self, text: bytes) -> bytes:
        """The compressed text, with a checksum."""
        return self._compressor.compress(text)

    def unpacked(self, data: bytes) -> bytes:
        """The text that `packed` got. Also reads what earlier versions stored: zlib and plain JSON. ValueError for data
        that is damaged or has another base.
        """
        if data.startswith(b"{"):
            return data
        try:
            return (
                self._decompressor.decompress(data)
                if data.startswith(zstandard.FRAME_HEADER)
                else zlib.decompress(data)
            )
        except (zlib.error, zstandard.ZstdError) as error:
            raise ValueError(f"cannot be decompressed: {error}") from error

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        # The base counts only as far back as the window reaches.
        window = min(max((2 * len(self._base)).bit_length() + 1, _SMALLEST_WINDOW), _LARGEST_WINDOW)
        settings = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, dict_size=len(self._base), window_log=window, write_checksum=1
        )
        found = self._dictionary
        if found is not None:
            # Otherwise, every text would index the base again, and an incident's is much shorter.
            found.precompute_compress(compression_params=settings)
        return zstandard.ZstdCompressor(dict_data=found, compression_params=settings)

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor(dict_data=self._dictionary)

    @property
    def _dictionary(self) -> zstandard.ZstdCompressionDict | None:
        return zstandard.ZstdCompressionDict(self._base, zstandard.DICT_TYPE_RAWCONTENT) if self._base else None
