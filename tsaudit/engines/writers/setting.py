"""Determines which program most likely writes a measurement, and its setting for the changes of a plan."""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.writers import opentelemetry, prometheus, telegraf
from tsaudit.model.change import (
    Change,
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.profile import Measurement

MOST_LINES: Final = 10
"""Maximum number of lines of a setting. Changes that would exceed them are only described in words."""


class Program(enum.StrEnum):
    """A program that writes data, or that all points pass through."""

    TELEGRAF = "telegraf"
    OPENTELEMETRY = "opentelemetry"
    PROMETHEUS = "prometheus"
    """Prometheus, or Grafana Alloy, which has the same rules."""
    APPLICATION = "application"
    """A program without such settings."""

    @property
    def has_fields(self) -> bool:
        """Whether the program can choose the names of fields and measurements."""
        return self in (Program.TELEGRAF, Program.APPLICATION)


ALL: Final = frozenset(Program)
WRITTEN: Final = (
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
"""Kinds of changes that concern what writers send."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of one program, ready to use."""

    program: Program
    words: str
    """Where the setting goes, as the end of a paragraph about what to write from now on."""
    text: str = ""
    language: str = ""


def program_of(
    measurement: Measurement, usual: Program = Program.APPLICATION, programs: Collection[Program] = ALL
) -> Program:
    """The program that the columns indicate, among `programs`; `usual` if they indicate none."""
    if Program.OPENTELEMETRY in programs and opentelemetry.signal_of(measurement) is not None:
        return Program.OPENTELEMETRY
    if Program.PROMETHEUS in programs and prometheus.is_writer(measurement):
        return Program.PROMETHEUS
    if Program.TELEGRAF in programs and telegraf.is_writer(measurement):
        return Program.TELEGRAF
    return usual


def setting(
    measurements: Sequence[Measurement],
    changes: Sequence[Change],
    usual: Program = Program.APPLICATION,
    programs: Collection[Program] = ALL,
    new_name: str = "",
    example: str = "",
    beside: Collection[str] = (),
) -> Setting | None:
    """The setting for the changes of a plan; None if writers change nothing.

    `measurements`: the measurement that the changes are about, then others that need the same changes; empty for
    changes of a database. `new_name`: the measurement that replaces the first one, if the changes need another one.
    `example`: what an application sends from now on, for programs without settings. `beside`: the names of all
    measurements of the database.
    """
    if not any(isinstance(change, WRITTEN) for change in changes):
        return None
    program = program_of(measurements[0], usual, programs) if measurements else usual
    every = "for all metrics, " if len(measurements) > opentelemetry.MOST_NAMES else ""
    if program is Program.TELEGRAF:
        text = telegraf.settings(measurements, changes, new_name, MOST_LINES, beside)
        found = Setting(program, "If Telegraf writes it:", text, "toml")
    elif program is Program.OPENTELEMETRY:
        text = opentelemetry.settings(measurements, changes)
        words = f"If an OpenTelemetry collector writes it, {every}in the pipeline to this database:"
        found = Setting(program, words, text, "yaml")
    elif program is Program.PROMETHEUS:
        text = prometheus.settings(measurements, changes, MOST_LINES)
        words = f"If Prometheus writes it, {every}in remote_write (Grafana Alloy: as rules of prometheus.relabel):"
        found = Setting(program, words, text, "yaml")
    else:
        found = _by_hand(example)
    return found if found.text else _by_hand(example)


def _by_hand(example: str) -> Setting:
    if not example:
        return Setting(Program.APPLICATION, "Change this in the application that writes it.")
    return Setting(Program.APPLICATION, "In the application that writes it:", example, "text")
