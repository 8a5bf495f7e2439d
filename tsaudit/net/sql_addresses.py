"""Parses addresses of SQL databases in the same way with every version of SQLAlchemy."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url

_DECODES: Final = make_url("sqlite:///%20").database == " "
"""Whether SQLAlchemy decodes the database name, as it does since 2.1."""


def parse(address: str) -> URL:
    """The parts of an address, all decoded. Raises ArgumentError or ValueError if it cannot be parsed."""
    url = make_url(address)
    return url if _DECODES or url.database is None else url.set(database=unquote(url.database))
