"""Names and texts of any kind come back from the engines as they were: nothing in them is read as a statement."""

from __future__ import annotations

import sqlite3

import duckdb
import urllib3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.servers import Influxd
from tsaudit import queries
from tsaudit.dialect import quote_identifier, quote_text

# Neither engine takes NUL in a statement, and lone surrogates are no text.
_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
_HOSTILE = st.lists(st.sampled_from(["'", '"', "\\", ";", "--", "/*", "\n", "a", " "]), min_size=1).map("".join)


@settings(deadline=None, max_examples=100)
@given(_TEXT | _HOSTILE)
def test_names_and_texts_come_back_from_sqlite(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute(f"SELECT {quote_text('sqlite', text)} AS {quote_identifier('sqlite', text)}")
    assert (cursor.description[0][0], cursor.fetchone()) == (text, (text,))
    connection.close()


@settings(deadline=None, max_examples=100)
@given(_TEXT | _HOSTILE)
def test_names_and_texts_come_back_from_duckdb(text: str) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT {quote_text('duckdb', text)} AS {quote_identifier('duckdb', text)}")
        assert (relation.columns, relation.fetchall()) == ([text], [(text,)])


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_TEXT | _HOSTILE)
def test_names_reach_influxdb_as_they_are(influxd: Influxd, text: str) -> None:
    # Its scanner reads a carriage return as a newline and knows no escape for it: such a name cannot be said.
    text = text.replace("\r", "")
    statement = queries.render("influxdb1", "retention", database=text)
    answer = urllib3.request("POST", f"{influxd.url}/query", fields={"q": statement}).json()
    # The server names the database that it does not have.
    assert answer["results"][0].get("error") == f"database not found: {text}"
