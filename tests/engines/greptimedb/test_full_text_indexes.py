"""STO007: full-text indexes."""

from __future__ import annotations

from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import IDS, LINES, METHODS, a_table, a_text, findings, steps
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.unsuitable_index import unsuitable_index as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity


def _logs(indexes: dict[str, str]) -> Dataset:
    rows = [Row(t, {}, {"message": LINES[i], "method": METHODS[i % 3]}) for i, t in enumerate(times(200))]
    settings = Greptime(options={"append_mode": "true"}, indexes=indexes)
    fields = {"message": "string", "method": "string"}
    return dataset(Table("raw_logs", (), fields, rows, key=("time",), greptime=settings))


CASES = (
    Case(_logs({}), _logs({"message": "fulltext"}), Subject("", "raw_logs", "message")),
    Case(
        _logs({"message": "fulltext", "method": "fulltext"}),
        _logs({"message": "fulltext", "method": "inverted"}),
        Subject("", "raw_logs", "method"),
    ),
)


def test_finding_when_log_lines_have_no_index() -> None:
    table = a_table(fields=(a_text("message", LINES),))
    (finding,) = findings(rule, table)
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert finding.message == (
        "message has 3,000 distinct values among the rows read and no index: these are log lines, and searching for a "
        "word reads all rows."
    )
    assert 'ALTER TABLE "main"."logs" MODIFY COLUMN "message" SET FULLTEXT INDEX;' in steps(rule, table)
    assert not findings(rule, a_table(fields=table.fields, indexes={"message": "fulltext"}))


def test_finding_when_words_of_a_list_have_one() -> None:
    few = a_table(fields=(a_text("method", METHODS),), indexes={"method": "fulltext"})
    (finding,) = findings(rule, few)
    assert finding.message == (
        "method has 3 distinct values among the rows read and a fulltext index: they are single words."
    )
    assert 'MODIFY COLUMN "method" UNSET FULLTEXT INDEX;' in steps(rule, few)
    assert "SET INVERTED INDEX" in steps(rule, few)
    for values, better in ((10_000, "INVERTED"), (10_001, "SKIPPING")):
        many = a_table(fields=(a_text("trace", IDS, values),), indexes={"trace": "fulltext"})
        assert f"SET {better} INDEX" in steps(rule, many)


def test_silence_when_words_are_not_told_apart_by_blanks() -> None:
    chinese = [f"第{i}号连接被对方重置" for i in range(30)]
    pages = [f"https://example.com/items/{i}?page={i % 7}" for i in range(30)]
    for values in (chinese, pages):
        assert not findings(rule, a_table(fields=(a_text("message", values),), indexes={"message": "fulltext"}))


def test_silence_when_nothing_was_read_or_text_is_of_some_words() -> None:
    assert not findings(rule, a_table(fields=(a_text("message", ()),), indexes={"message": "fulltext"}))
    cities = a_text("city", ("New York", "Los Angeles", "San Francisco", "Den Haag"))
    assert not findings(rule, a_table(fields=(cities,), indexes={"city": "fulltext"}))
    assert not findings(rule, a_table(fields=(cities,)))
