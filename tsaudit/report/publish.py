"""Puts finished files where people can read them (a folder, an S3 bucket, or any fsspec URL), and deletes old ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tsaudit import secrets
from tsaudit.errors import TsauditError
from tsaudit.net import addresses
from tsaudit.report.storage import SCHEME, FsspecStorage, LocalStorage, S3Storage


class ReportError(TsauditError):
    """A report could not be written; the error's text is one line that says where, why, and what to do."""


@dataclass(frozen=True, slots=True)
class ReportLocation:
    """Where a report was written."""

    url: str
    """The address for people: below `report.base_url` if that is set, otherwise the file's own address."""
    path: str
    """Where it was written: a file path, or an fsspec URL."""


class Folder:
    """The report folder. Every operation raises ReportError if the storage rejects it."""

    def __init__(self, address: str, permissions: int | None = None) -> None:
        """`permissions` apply to files, if the storage has any; folders created here are accessible to the same users.

        None: the umask decides.
        """
        self.address = address
        secrets.remember(*addresses.secrets_in(address))
        with self._refusing("open"):
            self._storage = _storage(address, permissions)

    def write(self, path: str, data: bytes) -> None:
        """Write `data` to `path` below the folder, atomically."""
        with self._refusing("write", path):
            self._storage.write(path, data)

    def read(self, path: str) -> bytes | None:
        """The contents of `path`; None if it does not exist."""
        with self._refusing("read", path), suppress(FileNotFoundError):
            return self._storage.read(path)
        return None

    def versions(self, subfolder: str, suffix: str) -> dict[str, str]:
        """File name to a version, a text that changes with the file, for every file with that
        suffix in the subfolder.
        """
        with self._refusing("read", subfolder):
            listed = self._storage.versions(subfolder)
        return {name: version for name, version in sorted(listed.items()) if name.endswith(suffix)}

    def read_all(self, subfolder: str, names: Iterable[str]) -> dict[str, bytes]:
        """File name to contents; files removed in the meantime are left out."""
        with self._refusing("read", subfolder):
            found = self._storage.read_all([f"{subfolder}/{name}" for name in names])
        return {path.rpartition("/")[2]: data for path, data in found.items()}

    def delete(self, path: str) -> None:
        """Delete the file. It is not an error if it does not exist."""
        with self._refusing("delete", path):
            self._storage.delete(path)

    def location(self, path: str, base_url: str | None) -> ReportLocation:
        """The location of the file at `path`, and its address for people."""
        full = self._storage.address(path)
        if isinstance(self._storage, LocalStorage):
            return ReportLocation(f"{base_url}/{path}" if base_url else Path(full).as_uri(), full)
        # Some file systems keep user and password in their paths; stored and sent addresses must not contain them.
        full = addresses.without_credentials(full)
        return ReportLocation(f"{base_url}/{path}" if base_url else full, full)

    @contextmanager
    def _refusing(self, doing: str, path: str = "") -> Iterator[None]:
        """Turns whatever the storage raises into a ReportError."""
        try:
            yield
        except Exception as error:
            place = f"{addresses.without_credentials(self.address).rstrip('/')}/{path}".rstrip("/")
            reason = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, OSError) and error.strerror:
                reason = error.strerror
            raise ReportError(f"cannot {doing} {place}: {reason}; check `report.folder`") from error


def remove_old(folder: Folder, target: str, before: date) -> None:
    """Delete the target's pages and JSON files of days before `before`, except for those of its newest day.

    Only files whose name is a day count as reports. Raises ReportError.
    """
    files = {name: day for name in folder.versions(target, "") if (day := _day(name)) is not None}
    newest = max(files.values(), default=before)
    for name, day in files.items():
        if day < before and day != newest:
            folder.delete(f"{target}/{name}")


def _storage(address: str, permissions: int | None) -> LocalStorage | S3Storage | FsspecStorage:
    if address.startswith(SCHEME):
        return S3Storage(address)
    if "://" not in address and "::" not in address:
        return LocalStorage(str(Path(address).expanduser().absolute()), permissions)
    # Only for addresses: importing it takes a tenth as long as the audit of a small database.
    from fsspec.core import url_to_fs

    files, root = url_to_fs(address)
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    return LocalStorage(str(root), permissions) if "file" in protocols else FsspecStorage(files, str(root))


def _day(name: str) -> date | None:
    """The audited day of a file; None if its name is not that of a report of a day."""
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})\.(html|json)", name, re.ASCII)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
