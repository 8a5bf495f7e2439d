"""Names that Dagster accepts."""

import hashlib
import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_]+")
_ENCODED: Final = re.compile(r"\w*__x[0-9a-f]{10}")


def encode(name: str) -> str:
    """`name` with letters, digits, and underscores only; different names give different results.

    Dagster allows `.` and `-` in asset keys but turns them into `_` internally, where `a.b` and `a_b` then collide. A
    name that has to be changed, or that looks like a changed one, gets a hash of the original.
    """
    if _PLAIN.fullmatch(name) and not _ENCODED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{re.sub('[^A-Za-z0-9_]', '_', name)}__x{digest}"
