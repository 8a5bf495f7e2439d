"""How settings of Telegraf name the measurement that they write, for all generations of InfluxDB."""

from typing import Final

TELEGRAF: Final = r"\bdest = \"<name>\""
"""A form of `tsaudit.engines.engine.Statements`."""
