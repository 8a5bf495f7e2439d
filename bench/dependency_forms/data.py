"""16 tags of hosts and services, as codes and as texts, and the file that hands them to each process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

DEPENDENCIES = 25
"""True ones among the tags: 15 of the id, 10 of the others."""

Codes = np.ndarray[Any, Any]

_TEXTS = {
    "host": "node-{:06d}.prod.example",
    "rack": "rack-{:05d}",
    "path": "/api/v1/resource/{}",
    "version": "v1.0.{}",
}
_BATCH = 100_000


def tag_codes(rows: int) -> dict[str, Codes]:
    """Regions of data centres of racks of hosts, services of teams, and more; the id differs in each row."""
    draw = np.random.default_rng(0)

    def follows(base: Codes, values: int) -> Codes:
        return draw.integers(0, values, int(base.max()) + 1)[base]

    host = draw.integers(0, max(rows // 50, 60), rows)
    rack = follows(host, max(rows // 2000, 40))
    datacenter = follows(rack, 30)
    service = draw.integers(0, 60, rows)
    columns = {"region": follows(datacenter, 8), "datacenter": datacenter, "rack": rack, "host": host}
    columns |= {"service": service, "team": follows(service, 12), "uuid": draw.permutation(rows)}
    columns |= {"os": follows(host, 5), "arch": follows(host, 3), "itype": follows(host, 40)}
    free = {"version": 300, "env": 4, "cpu": 64, "path": 500, "method": 5, "status": 12}
    columns |= {name: draw.integers(0, values, rows) for name, values in free.items()}
    return {name: _dense(codes) for name, codes in columns.items()}


def _dense(codes: Codes) -> Codes:
    """The same codes without gaps, in the narrowest type."""
    used = np.bincount(codes) > 0
    return (np.cumsum(used) - 1)[codes].astype(np.min_scalar_type(int(used.sum())))


def write_codes(rows: int, file: Path) -> None:
    """In Arrow's own format, so that each process maps the file into memory."""
    _write(pa.table(tag_codes(rows)), file)


def write_texts(rows: int, file: Path) -> None:
    """The same tags as texts."""
    columns = {}
    for name, codes in tag_codes(rows).items():
        coded = pa.DictionaryArray.from_arrays(codes, _texts(name, int(codes.max()) + 1))
        columns[name] = coded.cast(pa.string())
    _write(pa.table(columns), file)


def read(file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as opened:
        return pa.ipc.open_file(opened).read_all()


def _write(table: pa.Table, file: Path) -> None:
    with pa.ipc.new_file(file, table.schema) as opened:
        opened.write_table(table, _BATCH)


def _texts(name: str, values: int) -> pa.Array:
    if name != "uuid":
        form = _TEXTS.get(name, name + "-{}")
        return pa.array([form.format(i) for i in range(values)])
    digits = random.Random(0).randbytes(16 * values).hex()
    cuts = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return pa.array("-".join(digits[at + a : at + b] for a, b in cuts) for at in range(0, len(digits), 32))
