"""Names and texts of any kind come back from the engines as they were: nothing in them is read as a statement."""

from __future__ import annotations

import json
import re
import sqlite3

import duckdb
import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.examples import examples
from tests.servers import Influxd
from tsaudit.engines import queries
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES

# Neither engine takes NUL in a statement, and lone surrogates are no text.
_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
_HOSTILE = st.lists(st.sampled_from(["'", '"', "\\", ";", "--", "/*", "\n", "a", " "]), min_size=1).map("".join)


@settings(deadline=None, max_examples=examples(100))
@given(_TEXT | _HOSTILE)
def test_names_and_texts_come_back_from_sqlite(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute(
        f"SELECT {ENGINES['sqlite'].language.string(text)} AS {ENGINES['sqlite'].language.identifier(text)}"
    )
    assert (cursor.description[0][0], cursor.fetchone()) == (text, (text,))
    connection.close()


@settings(deadline=None, max_examples=examples(100))
@given(_TEXT | _HOSTILE)
def test_names_and_texts_come_back_from_duckdb(text: str) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(
            f"SELECT {ENGINES['duckdb'].language.string(text)} AS {ENGINES['duckdb'].language.identifier(text)}"
        )
        assert (relation.columns, relation.fetchall()) == ([text], [(text,)])


@settings(deadline=None, max_examples=examples(60))
@given(_TEXT | _HOSTILE)
def test_names_reach_influxdb_as_they_are(influxd: Influxd, text: str) -> None:
    # Its scanner reads a carriage return as a newline and knows no escape for it: such a name cannot be said.
    text = text.replace("\r", "")
    statement = queries.render("influxdb1", "retention", database=text)
    answer = urllib3.request("POST", f"{influxd.url}/query", fields={"q": statement}).json()
    # The server names the database that it does not have.
    assert answer["results"][0].get("error") == f"database not found: {text}"


# --- Every statement to InfluxDB 2.x: what is between its quotes is read back as what was put in -----------------

_INFLUXDB2 = [
    (fact, language)
    for fact in queries.query_files("influxdb2")
    for language in queries.files_by_language("influxdb2", fact)
]
_BREAKOUT = st.lists(
    st.sampled_from(['"', "'", "\\", "\n", "\t", "${", "$", "}", '"]) |> drop(', "'; --", "//", ";", "a", "é"]),
    min_size=1,
).map("".join)


def _flux_literals(statement: str) -> list[str]:
    """The string literals of a statement in Flux, read as its specification says.

    https://docs.influxdata.com/flux/v0/spec/lexical-elements/#string-literals
    """
    escapes = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
    found, place = [], 0
    while (place := statement.find('"', place)) >= 0:
        text, place = "", place + 1
        while statement[place] != '"':
            if statement[place] == "\\":
                assert statement[place + 1] in escapes
                text, place = text + escapes[statement[place + 1]], place + 2
            else:
                assert not statement.startswith("${", place), "an expression begins"
                text, place = text + statement[place], place + 1
        found.append(text)
        place += 1
    return found


def _influxql_literals(statement: str) -> list[str]:
    """The quoted names and texts of a statement in InfluxQL."""
    escapes = {"n": "\n", '"': '"', "'": "'", "\\": "\\"}
    found = re.findall(r"\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'", statement, re.DOTALL)
    return [re.sub(r"\\(.)", lambda m: escapes[m[1]], name or text, flags=re.DOTALL) for name, text in found]


def _json_literals(statement: str) -> list[str]:
    return [str(value) for value in json.loads(statement)["query"].values()]


_READ_BACK = {"flux": _flux_literals, "influxql": _influxql_literals, "json": _json_literals}
_OWN = {"", "influxdata/influxdb", "_measurement", "_field", "_value", "100"}
"""Literals of the templates."""


@settings(deadline=None, max_examples=examples(30))
@given(names=st.lists(_TEXT | _HOSTILE | _BREAKOUT, min_size=8, max_size=8), of_several=st.booleans())
@pytest.mark.parametrize(("fact", "language"), _INFLUXDB2)
def test_names_stay_within_their_quotes_in_every_statement(
    fact: str, language: str, names: list[str], of_several: bool
) -> None:
    database, measurement, tag, field, value, db, policy, org = names
    parameters = {
        "database": database,
        "measurement": measurement,
        "several": [measurement, value] if of_several else [],
        "tags": [tag],
        "fields": [field],
        "series": [{tag: value}],
        "within": [{tag: value}],
        "newest": True,
        "dbrp": {"database": db, "policy": policy, "default": False},
        "org": org,
        "org_id": org,
        "bucket_id": database,
        "start": NOW,
        "end": NOW,
        "limit": 1,
    }
    statement = queries.render("influxdb2", fact, language, **parameters)
    assert set(_READ_BACK[language](statement)) - _OWN <= set(names)


@pytest.mark.parametrize(
    ("engine", "database", "quoted"),
    [
        ("postgresql", "public", '"public"."o""d"'),
        ("postgresql", "a.b", '"a.b"."o""d"'),
        ("duckdb", "other", '"other"."o""d"'),
        ("duckdb", "main", '"o""d"'),
        ("timestream", "shop", '"shop"."o""d"'),
        ("sqlite", "main", '"o""d"'),
        ("influxdb1", "telegraf", '"o\\"d"'),
    ],
)
def test_schema_is_named_where_the_table_would_not_be_found_without(engine: str, database: str, quoted: str) -> None:
    assert ENGINES[engine].quoted(Qualified(database, 'o"d')) == quoted
    assert str(Qualified(database, 'o"d')) == 'o"d'
    assert ENGINES[engine].quoted("plain") == '"plain"'
