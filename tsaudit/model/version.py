"""The version of this package, which results and profiles contain."""

from __future__ import annotations

VERSION = "0.1.0"
