"""A report folder in S3 or a compatible object store, using boto3.

s3fs is not used: the versions of it that pip can install together with boto3, which Timestream needs, are years old.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any, Final

from tsaudit import secrets
from tsaudit.net import addresses
from tsaudit.report.storage import CONTENT_TYPES

SCHEME: Final = "s3://"
_AT_ONCE: Final = 16
"""Objects read in parallel."""


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
