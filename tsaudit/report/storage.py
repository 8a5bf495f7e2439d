"""Where the files of a report folder are kept: on this machine, or wherever fsspec reaches. S3 has its own module."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

CONTENT_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}
"""Content type by suffix: without it, a browser downloads a page from an object store instead of showing it."""


class StorageSection(Protocol):
    """Keeps files by their path below the report folder. Methods raise whatever their library raises."""

    def write(self, path: str, data: bytes) -> None:
        """Write the file atomically: a reader sees the old file or the new one, never a part."""

    def read(self, path: str) -> bytes:
        """The contents. Raises FileNotFoundError if there is no such file."""

    def read_all(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Path to contents; files that do not exist are left out."""

    def versions(self, subfolder: str) -> Mapping[str, str]:
        """File name to a version, a text that changes with the file, for each file directly in the subfolder; empty
        without such a folder.
        """

    def delete(self, path: str) -> None:
        """Delete the file. It is not an error if it does not exist."""

    def address(self, path: str) -> str:
        """The file's address, or its path on this machine."""


class LocalStorage:
    """A folder on this machine."""

    def __init__(self, root: str, permissions: int | None) -> None:
        """`permissions`: as for `Folder`."""
        self._root, self._permissions = Path(root), permissions

    def write(self, path: str, data: bytes) -> None:
        """Write a temporary file and rename it."""
        file = self._root / path
        _make_folder(file.parent, self._permissions)
        temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
        try:
            # Created without access for others, then given its permissions, whatever the umask is.
            first = 0o666 if self._permissions is None else 0o600
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, first)) as opened:
                if self._permissions is not None:
                    temporary.chmod(self._permissions)
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
            temporary.replace(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def read(self, path: str) -> bytes:
        """The contents. Raises FileNotFoundError if there is no such file."""
        return (self._root / path).read_bytes()

    def read_all(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Path to contents; files that do not exist are left out."""
        found = {}
        for path in paths:
            with suppress(FileNotFoundError):
                found[path] = self.read(path)
        return found

    def versions(self, subfolder: str) -> Mapping[str, str]:
        """File name to inode, time, and size."""
        found = {}
        with suppress(FileNotFoundError), os.scandir(self._root / subfolder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        about = entry.stat()
                        found[entry.name] = f"{about.st_ino} {about.st_mtime_ns} {about.st_size}"
        return found

    def delete(self, path: str) -> None:
        """Delete the file. It is not an error if it does not exist."""
        (self._root / path).unlink(missing_ok=True)

    def address(self, path: str) -> str:
        """The absolute path."""
        return str((self._root / path).absolute())


class FsspecStorage:
    """A folder that fsspec reaches. Object stores show an object only after its upload is complete."""

    def __init__(self, files: Any, root: str) -> None:
        self._files, self._root = files, root.rstrip("/")

    def write(self, path: str, data: bytes) -> None:
        """Write the file."""
        full = self._full(path)
        self._files.makedirs(full.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(full, data)

    def read(self, path: str) -> bytes:
        """The contents. Raises FileNotFoundError if there is no such file."""
        return bytes(self._files.cat_file(self._full(path)))

    def read_all(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Path to contents; files that do not exist are left out."""
        path_of = {self._full(path): path for path in paths}
        found = self._files.cat(list(path_of), on_error="omit") if path_of else {}
        # Some file systems return paths with a leading slash that the request did not have.
        return {path_of.get(full) or path_of[full.lstrip("/")]: bytes(data) for full, data in found.items()}

    def versions(self, subfolder: str) -> Mapping[str, str]:
        """File name to the details in the listing: the time and, if there is one, the ETag."""
        self._files.invalidate_cache()
        if not self._files.exists(self._full(subfolder)):
            return {}
        listed = self._files.ls(self._full(subfolder), detail=True)
        return {str(info["name"]).rpartition("/")[2]: str(info) for info in listed if info.get("type") != "directory"}

    def delete(self, path: str) -> None:
        """Delete the file. It is not an error if it does not exist."""
        with suppress(FileNotFoundError):
            self._files.rm_file(self._full(path))

    def address(self, path: str) -> str:
        """The URL."""
        return str(self._files.unstrip_protocol(self._full(path)))

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}"


def _make_folder(folder: Path, permissions: int | None) -> None:
    """Create missing folders; existing folders keep their permissions."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if permissions is None:
        return
    for one in missing:
        # Users who may read the files also need access to the folder.
        one.chmod(permissions | (permissions & 0o444) >> 2)
