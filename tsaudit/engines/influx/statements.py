"""How settings of Telegraf name the measurement that they write, for all generations of InfluxDB."""

from typing import Final

TELEGRAF: Final = r"\b(dest|name_override) = \"<name>\""
"""A form of `tsaudit.engines.engine.Statements`."""
