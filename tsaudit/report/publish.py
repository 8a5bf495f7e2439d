"""Puts finished files where people can read them: a folder, or any fsspec URL."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsaudit import secrets
from tsaudit.net import addresses
from tsaudit.secrets import MaskedError


class ReportError(MaskedError):
    """A report could not be written; the message is one line that says where, why, and what to do."""


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

        None leaves them to the umask.
        """
        self._address = address
        self._permissions = permissions
        secrets.remember(*addresses.secrets_in(address))
        try:
            from fsspec.core import url_to_fs

            self._files, self._root = url_to_fs(address)
        except Exception as error:
            raise self._refused("open", "", error) from error
        self._local = "file" in _protocols(self._files)

    def write(self, path: str, data: bytes) -> None:
        """Write `data` to `path` below the folder, atomically."""
        try:
            if self._local:
                _write_local(Path(self._root, path), data, self._permissions)
            else:
                # Object stores show an object only after its upload is complete.
                self._files.makedirs(self._full(path).rpartition("/")[0], exist_ok=True)
                self._files.pipe_file(self._full(path), data)
        except Exception as error:
            raise self._refused("write", path, error) from error

    def read(self, path: str) -> bytes | None:
        """The contents of `path`; None if it does not exist."""
        try:
            return bytes(self._files.cat_file(self._full(path)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._refused("read", path, error) from error

    def marks(self, subfolder: str, suffix: str) -> dict[str, str]:
        """File name to a text that changes with the file, for every file with that suffix in the subfolder."""
        try:
            self._files.invalidate_cache()
            if not self._files.exists(self._full(subfolder)):
                return {}
            listed = self._files.ls(self._full(subfolder), detail=True)
        except Exception as error:
            raise self._refused("read", subfolder, error) from error
        # A file system's metadata contains the time and, if there is one, the inode or ETag.
        named = ((str(info["name"]).rpartition("/")[2], str(info)) for info in listed)
        return {name: mark for name, mark in sorted(named) if name.endswith(suffix)}

    def read_all(self, subfolder: str, names: Iterable[str]) -> dict[str, bytes]:
        """File name to contents; files removed in the meantime are missing."""
        wanted = [self._full(f"{subfolder}/{name}") for name in names]
        try:
            found = self._files.cat(wanted, on_error="omit") if wanted else {}
            return {str(path).rpartition("/")[2]: bytes(data) for path, data in found.items()}
        except Exception as error:
            raise self._refused("read", subfolder, error) from error

    def location(self, path: str, base_url: str | None) -> ReportLocation:
        """The location of the file at `path`, and its address for people."""
        if self._local:
            file = Path(self._root, path).absolute()
            return ReportLocation(f"{base_url}/{path}" if base_url else file.as_uri(), str(file))
        # Some file systems keep user and password in their paths; stored and sent addresses must not contain them.
        full = addresses.without_credentials(str(self._files.unstrip_protocol(self._full(path))))
        return ReportLocation(f"{base_url}/{path}" if base_url else full, full)

    def _full(self, path: str) -> str:
        return f"{str(self._root).rstrip('/')}/{path}"

    def _refused(self, doing: str, path: str, error: Exception) -> ReportError:
        place = f"{addresses.without_credentials(self._address).rstrip('/')}/{path}".rstrip("/")
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        return ReportError(f"cannot {doing} {place}: {reason}; check `report.folder`")


def _protocols(files: Any) -> tuple[str, ...]:
    protocol = files.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _write_local(path: Path, data: bytes, permissions: int | None) -> None:
    """Write to a temporary file and rename it: a reader sees the old file or the new one, never a part."""
    _make_folder(path.parent, permissions)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        # Nobody else may read it before it has its permissions, which are set whatever the umask is.
        first = 0o666 if permissions is None else 0o600
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, first)) as file:
            if permissions is not None:
                temporary.chmod(permissions)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _make_folder(folder: Path, permissions: int | None) -> None:
    """Create missing folders; existing folders keep their permissions."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if permissions is None:
        return
    for one in missing:
        # Users who may read the files need access to the folder.
        one.chmod(permissions | (permissions & 0o444) >> 2)
