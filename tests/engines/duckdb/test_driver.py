"""Where DuckDB puts what does not fit into the memory."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

_PROGRAM = """\
import os, sys
from tsaudit.engines.duckdb.driver import _spill_folder
folder = _spill_folder(os.getpid())
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
print(folder, oct(os.stat(folder).st_mode & 0o777))
"""


def test_folder_is_private_and_goes_with_its_process(tmp_path: Path) -> None:
    command, env = [sys.executable, "-c", _PROGRAM], {**os.environ, "TMPDIR": str(tmp_path)}
    said = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    folders, modes = zip(*(one.split() for one in said), strict=True)
    assert set(modes) == {oct(stat.S_IRWXU)}
    assert len(set(folders)) == 2
    assert all(Path(folder).parent == tmp_path for folder in folders), "there until its process ended"
    assert list(tmp_path.iterdir()) == []
