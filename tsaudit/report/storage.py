"""The report folder: on this machine, in S3 or a compatible object store, or wherever fsspec reaches.

`Folder` writes finished files where people can read them. The three classes of storage have the same methods, which
raise whatever their library raises.

S3 is used through boto3, not through s3fs: the versions of s3fs that pip can install together with boto3, which
Timestream needs, are years old.
"""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tsaudit import secrets
from tsaudit.errors import TsauditError
from tsaudit.net import addresses

CONTENT_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}
"""Content type by suffix: without it, a browser downloads a page from an object store instead of showing it."""
SCHEME: Final = "s3://"
_AT_ONCE: Final = 16
"""Objects read in parallel."""


class LocalStorage:
    """A folder on this machine."""

    def __init__(self, root: str, permissions: int | None) -> None:
        """`permissions`: as for `Folder`."""
        self._root, self._permissions = Path(root), permissions

    def write(self, path: str, data: bytes) -> None:
        """Write a temporary file and rename it: a reader sees the old file or the new one, never a part."""
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
        """File name to inode, time, and size, for each file directly in the subfolder; empty without such a folder."""
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


class S3Storage:
    """A bucket and a prefix in it."""

    def __init__(self, address: str) -> None:
        """`address`: `s3://bucket/prefix`. Raises ValueError without a bucket, ImportError without boto3."""
        self._bucket, _, prefix = address.removeprefix(SCHEME).partition("/")
        if not self._bucket:
            raise ValueError(f"{SCHEME} needs a bucket: {SCHEME}bucket/folder")
        self._prefix = prefix.strip("/")
        try:
            self._client = _client()
        except ImportError as error:
            raise ImportError("S3 needs boto3: pip install 'tsaudit[s3]'") from error

    def write(self, path: str, data: bytes) -> None:
        """Write the object, with the content type of its suffix. It is visible once it is complete.

        Raises ValueError if the response is not from an object store, for example the login page of a proxy with status
        200.
        """
        kind = CONTENT_TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")
        answer = self._client.put_object(Bucket=self._bucket, Key=self._key(path), Body=data, ContentType=kind)
        if not answer.get("ETag"):
            raise ValueError("the response has no ETag, so it is not from an object store")

    def read(self, path: str) -> bytes:
        """The contents. Raises FileNotFoundError if there is no such object."""
        try:
            return bytes(self._client.get_object(Bucket=self._bucket, Key=self._key(path))["Body"].read())
        except self._client.exceptions.NoSuchKey as error:
            raise FileNotFoundError(path) from error

    def read_all(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Path to contents; objects that do not exist are left out."""

        def one(path: str) -> tuple[str, bytes | None]:
            try:
                return path, self.read(path)
            except FileNotFoundError:
                return path, None

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return {path: data for path, data in pool.map(one, paths) if data is not None}

    def versions(self, subfolder: str) -> Mapping[str, str]:
        """File name to ETag."""
        start = self._key(f"{subfolder}/")
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start, Delimiter="/")
        return {one["Key"].removeprefix(start): one["ETag"] for page in pages for one in page.get("Contents", ())}

    def delete(self, path: str) -> None:
        """Delete the object. It is not an error if it does not exist."""
        self._client.delete_object(Bucket=self._bucket, Key=self._key(path))

    def address(self, path: str) -> str:
        """`s3://bucket/prefix/path`."""
        return f"{SCHEME}{self._bucket}/{self._key(path)}"

    def _key(self, path: str) -> str:
        return f"{self._prefix}/{path}" if self._prefix else path


@functools.cache
def _client() -> Any:
    """The client, shared by all threads because creating one takes a tenth of a second. Credentials, region, and
    endpoint come from boto3: environment, profile, role.
    """
    import boto3
    from botocore.config import Config

    # Object stores other than AWS's reject checksums that they do not know.
    plain = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    limits = {"connect_timeout": 10, "read_timeout": 30, "max_pool_connections": _AT_ONCE}
    client = boto3.session.Session().client("s3", config=Config(retries={"mode": "standard"}, **limits, **plain))
    # boto3's errors quote the endpoint, which may contain a password.
    secrets.remember(*addresses.secrets_in(client.meta.endpoint_url))
    return client


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
