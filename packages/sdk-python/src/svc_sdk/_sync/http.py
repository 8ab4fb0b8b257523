"""HTTP by `urllib`: what it opens blocks its thread."""

from __future__ import annotations

import http.client
import socket
import time
import urllib.error
import urllib.request
from typing import Any, Iterator, Mapping

from .._request import MOST_FRAME_BYTES, Request, Settings, SvcError

sleep = time.sleep


class Response:
    """An answer whose head has come."""

    def __init__(self, settings: Settings, raw: Any) -> None:
        self._settings = settings
        self._raw = raw
        self.status: int = raw.status
        self.headers: Mapping[str, str] = raw.headers

    def read(self) -> bytes:
        try:
            return self._raw.read()
        except (OSError, http.client.HTTPException) as error:
            raise _failure(self._settings, error) from error

    def lines(self) -> Iterator[bytes]:
        try:
            while True:
                line = self._raw.readline(MOST_FRAME_BYTES)
                if not line:
                    return
                if len(line) >= MOST_FRAME_BYTES:
                    raise SvcError(0, "unknown", "a frame has no end")
                yield line
        except (OSError, http.client.HTTPException) as error:
            raise _failure(self._settings, error) from error

    def close(self) -> None:
        self._raw.close()


def open_response(settings: Settings, request: Request) -> Response:
    """Sends a request and waits for the head of its answer, a failure's too."""
    sent = urllib.request.Request(request.url, data=request.content, headers=request.headers, method=request.method)
    try:
        try:
            raw = urllib.request.urlopen(sent, timeout=request.timeout)
        except urllib.error.HTTPError as error:
            raw = error
        if not _is_whole(raw):
            raw.close()
            raise settings.lost("the connection ended within the head of the answer")
        return Response(settings, raw)
    except (OSError, http.client.HTTPException) as error:
        raise _failure(settings, error) from error


def _is_whole(raw: Any) -> bool:
    """`http.client` takes a head that was cut for one that is short; the gateway says how each body ends."""
    headers = raw.headers
    return raw.status in (204, 304) or "content-length" in headers or "transfer-encoding" in headers


def _failure(settings: Settings, error: Exception) -> SvcError:
    reason = getattr(error, "reason", error)
    return settings.late() if isinstance(reason, (socket.timeout, TimeoutError)) else settings.lost(reason)
