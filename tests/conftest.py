"""Fixtures for all tests."""

from __future__ import annotations

from tests.servers import influxd, influxd_auth, own_influxd

__all__ = ["influxd", "influxd_auth", "own_influxd"]
