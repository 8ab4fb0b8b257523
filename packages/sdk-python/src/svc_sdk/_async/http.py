"""HTTP/1.1 on the streams of `asyncio`: a connection for each call, which ends with it. Proxies are not asked for."""

from __future__ import annotations

import asyncio
import http.client
import io
import ssl
from typing import Any, AsyncIterator, Awaitable, Callable, Optional, TypeVar
from urllib.parse import urlsplit

from .._request import MOST_FRAME_BYTES, Request, Settings, SvcError

T = TypeVar("T")

sleep = asyncio.sleep

CHUNK_BYTES = 65_536
#: What the streams of `asyncio` raise when a connection breaks, or says what is no HTTP.
BROKEN = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException)


class Response:
    """An answer whose head has come."""

    def __init__(
        self,
        settings: Settings,
        timeout: Optional[float],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._settings = settings
        self._timeout = timeout
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: Any = {}

    async def begin(self) -> None:
        """Reads the head, past those that only say that it will come."""
        while self.status < 200:
            head = await self._within(self._reader.readuntil(b"\r\n\r\n"))
            first, _, rest = head.partition(b"\r\n")
            self.status = int(first.split(b" ", 2)[1])
            self.headers = http.client.parse_headers(io.BytesIO(rest))

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self._chunks()])

    async def lines(self) -> AsyncIterator[bytes]:
        rest = bytearray()
        async for chunk in self._chunks():
            begun = len(rest)
            rest += chunk
            end = rest.find(b"\n", begun)
            while end >= 0:
                yield bytes(rest[: end + 1])
                del rest[: end + 1]
                end = rest.find(b"\n")
            if len(rest) > MOST_FRAME_BYTES:
                raise SvcError(0, "unknown", "a frame has no end")

    def close(self) -> None:
        self._writer.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                while True:
                    left = int((await self._within(self._reader.readline())).split(b";")[0], 16)
                    if left == 0:
                        return
                    async for chunk in self._exactly(left):
                        yield chunk
                    await self._within(self._reader.readexactly(2))
            elif self.headers.get("content-length") is not None:
                async for chunk in self._exactly(int(self.headers["content-length"])):
                    yield chunk
            elif self.status not in (204, 304):
                while True:
                    chunk = await self._within(self._reader.read(CHUNK_BYTES))
                    if not chunk:
                        return
                    yield chunk
        except BROKEN as error:
            raise self._settings.lost(error) from error

    async def _exactly(self, length: int) -> AsyncIterator[bytes]:
        while length > 0:
            chunk = await self._within(self._reader.read(min(length, CHUNK_BYTES)))
            if not chunk:
                raise EOFError("the answer ended before its end")
            length -= len(chunk)
            yield chunk

    async def _within(self, work: Awaitable[T]) -> T:
        """What the connection brings next; the gateway is silent for no longer than the call allows."""
        return await _within(self._settings, self._timeout, work, self._writer.transport.abort)


async def _within(settings: Settings, seconds: Optional[float], work: Awaitable[T], end: Callable[[], object]) -> T:
    """By hand: `asyncio.wait_for` loses a cancellation that comes with the result, until Python 3.12."""
    is_late = False

    def expire() -> None:
        nonlocal is_late
        is_late = True
        end()

    timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, expire)
    try:
        done = await work
    except (asyncio.CancelledError, *BROKEN) as error:
        if is_late:
            raise settings.late() from error
        raise
    finally:
        if timer is not None:
            timer.cancel()
    if is_late:
        raise settings.late()
    return done


async def open_response(settings: Settings, request: Request) -> Response:
    """Sends a request and waits for the head of its answer, a failure's too."""
    url = urlsplit(request.url)
    is_tls = url.scheme == "https"
    port = url.port or (443 if is_tls else 80)
    context = ssl.create_default_context() if is_tls else None
    connecting = asyncio.ensure_future(asyncio.open_connection(url.hostname, port, ssl=context))
    try:
        reader, writer = await _within(settings, request.timeout, connecting, connecting.cancel)
    except OSError as error:
        raise settings.lost(error) from error
    response = Response(settings, request.timeout, reader, writer)
    try:
        writer.write(_head_of(request, url.netloc, f"{url.path or '/'}{url.query and '?'}{url.query}"))
        writer.write(request.content or b"")
        try:
            await _within(settings, request.timeout, writer.drain(), writer.transport.abort)
        except ConnectionError:
            # A refusal may have come before all of the body was read.
            pass
        await response.begin()
        return response
    except BROKEN as error:
        response.close()
        raise settings.lost(error) from error
    except BaseException:
        # A task that is cancelled leaves no request behind.
        response.close()
        raise


def _head_of(request: Request, host: str, target: str) -> bytes:
    length = {"content-length": str(len(request.content))} if request.content is not None else {}
    if request.content is None and request.method in ("POST", "PUT", "PATCH"):
        length = {"content-length": "0"}
    fields = {"host": host.rpartition("@")[2], "connection": "close", "accept": "*/*", **length, **request.headers}
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header has an end of a line in it")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
