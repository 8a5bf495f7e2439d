"""Holds what fixes for Timestream propose against the stand-in, and against the API's own description."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import boto3
from botocore.validate import ParamValidator

from tests.engines.timestream.double import Timestream
from tsaudit.engines.timestream import predicates

_BEGINS = re.compile(r"^(?=(?:SELECT|DESCRIBE|SHOW) )", re.MULTILINE)


def works(text: str, server: Timestream) -> int:
    """Whether the service would take each statement, bounded in time, or each command of a step; how many these are.

    What commands create and change is there on the stand-in.
    """
    if text.startswith("aws "):
        found = commands(text)
        for command in found:
            asked = arguments(command)
            change = server.create_table if "create-table" in command else server.update_table
            change(asked.pop("DatabaseName"), asked.pop("TableName"), asked)
        return len(found)
    found = [statement.strip() for statement in _BEGINS.split(text) if statement.strip()]
    for statement in found:
        server.answer(statement)
        if statement.startswith("SELECT"):
            assert "time" in predicates.read(statement).filters, statement
    return len(found)


def commands(text: str) -> list[str]:
    """The commands of the AWS CLI in it, each in one line."""
    joined = re.sub(r" \\\n +", " ", text)
    return re.findall(r"^aws (?:'[^']*'|[^'\n])*", joined, re.MULTILINE)


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
