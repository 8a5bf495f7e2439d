"""Collecting from GreptimeDB: any name comes back as it was written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.examples import examples
from tests.rules.cases import run_rule
from tsaudit.collect.probing import probe
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity
from tsaudit.rules.server.server_in_distress import server_in_distress

_PARTS = ["a", "é", '"', "'", "`", "\\", "\n", ";", "--", "/*", " ", ",", "=", "%s", "%(x)s", "'; --", "{{ x }}", "$1"]
_NAMES = st.lists(st.sampled_from(_PARTS)).map(lambda parts: "n" + "".join(parts))


@pytest.fixture(scope="module", params=["0.17.2", "1.1.4"])
def server(request: pytest.FixtureRequest) -> Iterator[GreptimeDB]:
    running = GreptimeDB(request.param)
    yield running
    running.stop()


@pytest.mark.full
@settings(deadline=None, max_examples=examples(15))
@given(database=_NAMES, measurement=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES)
def test_whatever_it_is_called_comes_back_as_it_was_written(
    server: GreptimeDB, database: str, measurement: str, tag: str, field: str, value: str
) -> None:
    rows = [Row(at, {f"t{tag}": value, "z": "z"}, {f"f{field}": 1.5, f"s{field}": value}) for at in times(2)]
    fields = {f"f{field}": "float", f"s{field}": "string"}
    kept = Greptime(options={"comment": value}, indexes={f"s{field}": "skipping"})
    table = Table(measurement, ("z", f"t{tag}"), fields, rows, key=(f"t{tag}", "z"), time=f"x{tag}", greptime=kept)
    target = write(Dataset([table], database=database), "greptimedb", server)
    profile = collected(target)
    untold = {"stored_rows"} if server.version.number < (1, 0) else set()
    assert {gap.fact for gap in profile.gaps} == untold
    (found,) = profile.measurements
    assert (found.database, found.name, found.time_column) == (database, measurement, f"x{tag}")
    assert {t.key: t.sample for t in found.tags} == {f"t{tag}": (value,), "z": ("z",)}
    assert {f.key: f.sample for f in found.fields} == {f"f{field}": ("1.5",), f"s{field}": (value,)}
    assert all(f.null_ratio is not None and f.null_ratio.value == 0 for f in found.fields)
    assert (found.rows and found.rows.value, found.series and found.series.value) == (2, 1)
    assert (found.options or {})["comment"] == value
    assert {i.kind: i.columns for i in found.indexes or ()} == {
        "primary": (f"t{tag}", "z"),
        "skipping": (f"s{field}",),
        "time": (f"x{tag}",),
    }
    with open_connection(target) as connection:
        assert {gap.fact for gap in probe(target, connection, NOW).profile.gaps} == untold


def test_long_values_of_tags_are_told_apart_to_their_end(greptimedb: GreptimeDB) -> None:
    rows = [Row(at, {"t": "x" * 5_000 + str(i)}, {"note": "y" * 5_000}) for i, at in enumerate(times(3))]
    (found,) = collected(
        write(Dataset([Table("t", ("t",), {"note": "string"}, rows)]), "greptimedb", greptimedb)
    ).measurements
    assert found.series is not None
    assert found.series.value == 3
    assert "left(" in found.statements["row_sample"]


@pytest.mark.parametrize("version", ["0.17.2", "1.1.4"])
def test_region_whose_leader_is_down(version: str) -> None:
    server = GreptimeDB(version)
    parts = ("host < 'b'", "host >= 'b'")
    settled = Greptime(partition_by=("host",), partitions=parts)
    rows = [Row(at, {"host": host}, {"ms": 1.0}) for at in times(9) for host in ("a", "b")]
    table = Table("hits", ("host",), {"ms": "float"}, rows, key=("host", "time"), greptime=settled)
    target = write(Dataset([table], database="shop"), "greptimedb", server)
    (hits,) = server.tables.values()
    assert collected(target).server is None
    # A region that is being moved is not down for long.
    server.down = {hits.regions[0].id: 5, hits.regions[1].id: 300}
    profile = collected(target)
    server.stop()
    assert profile.server is not None
    assert [(one.name, one.database) for one in profile.server.failures] == [("region 1 of hits", "shop")]
    (finding,) = run_rule(server_in_distress, profile).findings
    assert finding.message == "The leader of region 1 of hits is down."
    assert (finding.subject, finding.severity) == (Subject("shop", "region 1 of hits"), Severity.CRITICAL)
