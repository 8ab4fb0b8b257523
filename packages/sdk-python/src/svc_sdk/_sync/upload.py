"""A file of the account's uploads, sent in pieces."""

# Written from `_async` by `npm run generate`; changes here are lost.

from __future__ import annotations

from base64 import b64encode
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Callable, Mapping, Optional, Union

from .. import types
from .._request import CallOptions, SvcError

if TYPE_CHECKING:
    from .. import Client

_most_piece_bytes = 8 * 1024 * 1024
#: Failures in a row, without a byte between them, that are borne.
_most_failures = 8
_longest_wait = 30.0
_passing = (409, 423, 429, 460)


def upload_file(
    client: "Client",
    file: Union[bytes, str, Path, BinaryIO],
    *,
    id: Optional[str] = None,
    metadata: Optional[Mapping[str, str]] = None,
    piece_bytes: int = _most_piece_bytes,
    on_progress: Optional[Callable[[types.Upload], None]] = None,
) -> types.Upload:
    """Sends bytes, the file at a path, or an open one, and goes on by itself where the network fails.

    Answers the whole upload, whose `id` makes a transcript. With the `id` of one that was begun before, with the same file, it
    goes on where that is. `on_progress` is called when it begins and after each piece of at most 8 MiB. Raises `SvcError` when
    the gateway refuses it, or after eight failures in a row: the upload stays, to go on with its `id`.
    """
    if isinstance(file, (str, Path)):
        with open(file, "rb") as opened:
            return _send(client, opened, id, metadata or {}, piece_bytes, on_progress)
    source = BytesIO(file) if isinstance(file, bytes) else file
    return _send(client, source, id, metadata or {}, piece_bytes, on_progress)


def _send(
    client: "Client",
    source: BinaryIO,
    id: Optional[str],
    metadata: Mapping[str, str],
    piece_bytes: int,
    on_progress: Optional[Callable[[types.Upload], None]],
) -> types.Upload:
    length = source.seek(0, SEEK_END)
    if id is None:
        pairs = [f"{name} {b64encode(value.encode()).decode()}" for name, value in metadata.items()]
        headers = {"upload-length": str(length), **({"upload-metadata": ",".join(pairs)} if pairs else {})}
        begun = _options(headers)
        upload = _patiently(client, lambda: client.uploads.create(b"", options=begun))
    else:
        known = id
        upload = _patiently(client, lambda: client.uploads.get(known))
    if upload["length"] != length:
        raise SvcError(0, "upload_conflict", f"the upload is of another file: {upload['length']} bytes")
    if on_progress:
        on_progress(upload)
    which = upload["id"]
    failures = 0
    while upload["offset"] < length:
        before = upload["offset"]
        source.seek(before)
        piece = source.read(min(piece_bytes, _most_piece_bytes))
        try:
            client.uploads.append(which, piece, options=_options({"upload-offset": str(before)}))
        except SvcError as error:
            failures += 1
            if not _is_passing(error) or failures >= _most_failures:
                raise
            client._sleep(_wait(error, failures))
        # How far it is says the gateway alone: an answer may have been lost.
        upload = _patiently(client, lambda: client.uploads.get(which))
        if upload["offset"] > before:
            failures = 0
        if on_progress:
            on_progress(upload)
    return upload


def _options(headers: Mapping[str, str]) -> CallOptions:
    fixed = {"tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream"}
    return CallOptions(headers={**fixed, **headers})


def _is_passing(error: SvcError) -> bool:
    return error.may_repeat and (error.status == 0 or error.status >= 500 or error.status in _passing)


def _wait(error: SvcError, failures: int) -> float:
    return min(_longest_wait, error.retry_after if error.retry_after is not None else 0.2 * 2**failures)


def _patiently(client: "Client", work: Callable[[], Awaitable[types.Upload]]) -> types.Upload:
    failures = 0
    while True:
        try:
            return work()
        except SvcError as error:
            failures += 1
            if not _is_passing(error) or failures >= _most_failures:
                raise
            client._sleep(_wait(error, failures))
