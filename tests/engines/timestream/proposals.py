"""Holds what fixes for Timestream propose against the stand-in, and against the API's own description."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date, timedelta
from typing import Any

import boto3
from botocore.validate import ParamValidator

from tests.engines.timestream.double import Timestream
from tsaudit.engines.timestream import predicates

_STATEMENT = re.compile(r'(?:for ".*?": )?((?:SELECT|DESCRIBE|SHOW) .*)')
_BEGINS = re.compile(r"\b(?:SELECT|DESCRIBE|SHOW TABLES)\b")
_INVOKED = re.compile(r"--invocation-time (\d{4}-\d\d-\d\d)T00:00:00Z")


def works(fix: str, server: Timestream) -> None:
    """Whether the service would take each statement, bounded in time, and each command of the fix, in their order.

    Tables that it creates are created on the stand-in, and a scheduled query is run for the day that is shown.
    """
    shown = _INVOKED.search(fix)
    for line in fix.splitlines():
        if line.startswith("aws "):
            asked = arguments(line)
            if "create-table" in line:
                server.create_table(asked["DatabaseName"], asked["TableName"])
            elif "create-scheduled-query" in line:
                assert shown, fix
                copied(asked, date.fromisoformat(shown[1]), server)
            continue
        assert "aws timestream" not in line, line
        # Each begins a line, so that it can be copied.
        found = _STATEMENT.fullmatch(line)
        assert found or not _BEGINS.search(line), line
        if found:
            server.answer(found[1])
            if found[1].startswith("SELECT"):
                assert "time" in predicates.read(found[1]).filters, line


def copied(asked: dict[str, Any], invoked: date, server: Timestream, days: int = 1) -> None:
    """Runs the scheduled query as if at the beginning of that day, and of others before it; writes what it maps."""
    end, begin = (f"TIMESTAMP '{day:%Y-%m-%d} 00:00:00'" for day in (invoked, invoked - timedelta(days=days)))
    query = asked["QueryString"].replace("@scheduled_runtime - 1d", begin).replace("@scheduled_runtime", end)
    rows, into = server.answer(query), asked["TargetConfiguration"]["TimestreamConfiguration"]
    dimensions = [mapping["Name"] for mapping in into["DimensionMappings"]]
    lists = [into["MultiMeasureMappings"]] if "MultiMeasureMappings" in into else into["MixedMeasureMappings"]
    mapped = {a["SourceColumn"] for one in lists for a in one.get("MultiMeasureAttributeMappings", [one])}
    # A value that is read and not mapped would be lost.
    assert {*dimensions, *mapped, into["TimeColumn"], into["MeasureNameColumn"]} == set(rows.column_names), asked
    assert len(rows.column_names) == len(set(rows.column_names))
    assert not set(dimensions) & mapped
    server.load(into["DatabaseName"], into["TableName"], rows, dimensions)


def arguments(command: str) -> dict[str, Any]:
    """What the command asks the API for; an assertion fails for what the API does not know, or misses."""
    program, service, operation, *words = shlex.split(command)
    assert program == "aws"
    client = boto3.client(service, "eu-central-1")
    asked = {}
    for option, value in zip(words[::2], words[1::2], strict=True):
        assert option.startswith("--"), command
        asked[_pascal(option[2:])] = json.loads(value) if value.startswith("{") else value
    shape = client.meta.service_model.operation_model(_pascal(operation)).input_shape
    report = ParamValidator().validate(asked, shape)
    assert not report.has_errors(), report.generate_report()
    return asked


def _pascal(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("-"))
