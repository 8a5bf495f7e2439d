"""The version of this package: results and profiles carry it."""

from __future__ import annotations

VERSION = "0.1.0"
