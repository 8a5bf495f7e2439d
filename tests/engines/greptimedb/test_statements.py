"""The statements for GreptimeDB's tables."""

from __future__ import annotations

from tests.builders import a_field, a_profile, a_tag
from tests.engines.greptimedb.cases import LINES, a_table, a_text
from tsaudit.advice.statements import copy_without_tags, rename
from tsaudit.engines.greptimedb import statements as greptime_statements
from tsaudit.model.profile import Measurement, Partition, Partitioning
from tsaudit.model.timeline import Timeline
from tsaudit.rule import Case, LimitPolicy
from tsaudit.rules import all_rules

TABLE = a_table(
    key=("zone", 'ho"st'),
    tags=(a_tag('ho"st'), a_tag("zone"), a_tag("shelf", data_type="bigint unsigned")),
    fields=(a_field("cpu", ("double",)), a_text("line", LINES)),
    indexes={"line": "fulltext", "cpu": "skipping", "ts": "inverted"},
    options={"ttl": "7days", "sst_format": "primary_key", "comment": "it's", "merge_mode": ""},
)


def _case(table: Measurement = TABLE, version: str = "1.1.4") -> Case:
    return Case(
        all_rules()[0], a_profile(table, engine="greptimedb", server_version=version), Timeline(), LimitPolicy()
    )


def _divided(*columns: str) -> Measurement:
    parts = (Partition("p1", "zone >= 'm'", 9, 9), Partition("p0", "zone < 'm'", 5, 5))
    return a_table(key=("zone",), tags=(a_tag("zone"),), partitioning=Partitioning(columns, 2, parts))


def test_rebuilt_when_nothing_changes() -> None:
    assert greptime_statements.rebuilt(_case(), TABLE) == (
        'CREATE TABLE "main"."logs_new" (\n'
        '  "ts" TIMESTAMP(3) NOT NULL,\n'
        '  "ho""st" STRING,\n'
        '  "zone" STRING,\n'
        '  "shelf" BIGINT UNSIGNED,\n'
        '  "cpu" DOUBLE SKIPPING INDEX,\n'
        '  "line" STRING FULLTEXT INDEX,\n'
        '  TIME INDEX ("ts"),\n'
        '  PRIMARY KEY ("zone", "ho""st")\n'
        ") WITH ('comment'='it''s', 'ttl'='7days');\n"
        'INSERT INTO "main"."logs_new" ("ts", "ho""st", "zone", "shelf", "cpu", "line") '
        'SELECT "ts", "ho""st", "zone", "shelf", "cpu", "line" FROM "main"."logs";\n'
        "-- Writers have to stop meanwhile. When the counts of rows agree, swap them:\n"
        'ALTER TABLE "main"."logs" RENAME "logs_old";\n'
        'ALTER TABLE "main"."logs_new" RENAME "logs";\n'
        "-- Once the old rows are not needed any more; this cannot be undone:\n"
        'DROP TABLE "main"."logs_old";\n'
        "What else SHOW CREATE TABLE has, carry over: defaults, comments, details of indexes."
    )


def test_rebuilt_when_columns_have_other_names_and_types() -> None:
    text = greptime_statements.rebuilt(_case(), TABLE, names={"zone": "area", "ts": "at"}, types={"cpu": "BIGINT"})
    assert 'TIME INDEX ("at"),\n  PRIMARY KEY ("area", "ho""st")' in text
    assert '"cpu" BIGINT SKIPPING INDEX' in text
    assert '("at", "ho""st", "area", "shelf", "cpu", "line") SELECT "ts", "ho""st", "zone", "shelf", CAST(' in text


def test_options_when_they_change_or_go() -> None:
    text = greptime_statements.rebuilt(_case(), TABLE, options={"ttl": "", "append_mode": "true"}, key=())
    assert ") WITH ('append_mode'='true', 'comment'='it''s');" in text
    assert "PRIMARY KEY" not in text
    assert ");\nINSERT" in greptime_statements.rebuilt(_case(), a_table())


def test_partitions_when_they_are_kept_left_out_or_cannot_be_told() -> None:
    plain, odd = _divided("zone"), _divided("Zone")
    kept = greptime_statements.rebuilt(_case(plain), plain)
    assert ") PARTITION ON COLUMNS (\"zone\") (\n  zone < 'm',\n  zone >= 'm'\n);\n" in kept
    assert "carry over: defaults" in kept
    assert "PARTITION" not in greptime_statements.rebuilt(_case(plain), plain, divided=False)
    # The server prints names in bounds without quotes, and would read them as lower case.
    told = greptime_statements.rebuilt(_case(odd), odd)
    assert "PARTITION ON" not in told
    assert "carry over: partitions, defaults" in told
    assert "carry over: partitions" in greptime_statements.rebuilt(_case(plain), plain, names={"zone": "area"})


def test_key_when_it_gets_shorter_or_goes() -> None:
    shorter = greptime_statements.without_key_columns(_case(), TABLE, {"zone"})
    assert 'PRIMARY KEY ("ho""st")' in shorter
    assert shorter.endswith("become one: first see that none is lost by it.")
    none = greptime_statements.without_key_columns(_case(), TABLE, {"zone", 'ho"st'})
    assert "'append_mode'='true'" in none
    assert none.endswith("DELETE is refused then.")
    all_kept = a_table(options={"append_mode": "true"})
    assert greptime_statements.without_key_columns(_case(all_kept), all_kept, {"host"}).endswith("details of indexes.")


def test_labels_when_the_table_is_of_the_metric_engine() -> None:
    metric = a_table(options={"engine": "metric"})
    said = greptime_statements.left_out_by_sender(metric, {"host", "__table_id"})
    assert "leave out host where it is sent" in said
    assert greptime_statements.left_out_by_sender(metric, {"__table_id"}).startswith(
        "Each metric has series of its own"
    )
    assert greptime_statements.left_out_by_sender(TABLE, {"zone"}) == ""
    assert rename(_case(metric), metric, "host", "node").startswith("change it where it is sent")


def test_shared_statements_when_the_engine_is_greptimedb() -> None:
    assert 'PRIMARY KEY ("ho""st")' in copy_without_tags(_case(), TABLE, {"zone"})
    assert rename(_case(), TABLE, "logs", "log_lines") == 'ALTER TABLE "main"."logs" RENAME "log_lines";'
    assert '"area" STRING' in rename(_case(), TABLE, "zone", "area")
