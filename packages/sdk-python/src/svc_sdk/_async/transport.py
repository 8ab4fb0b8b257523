"""Makes calls; the operations are generated on top of it."""

from __future__ import annotations

import json
import warnings
from typing import Any, AsyncIterator, Awaitable, Callable, Mapping, Tuple, TypeVar

from .._request import Attempts, Event, Frames, Settings, SvcError, failure_of
from .http import Response, open_response, sleep

T = TypeVar("T")


class AsyncTransport(Settings):
    """Makes calls, again where that is safe and may help."""

    async def json(self, method: str, path: str, *, records: Tuple[int, ...] = (), **call: Any) -> Any:
        return json.loads(await self.bytes(method, path, records=records, **call))

    async def text(self, method: str, path: str, **call: Any) -> str:
        return (await self.bytes(method, path, **call)).decode("utf-8")

    async def nothing(self, method: str, path: str, **call: Any) -> None:
        await self.bytes(method, path, **call)

    async def bytes(self, method: str, path: str, *, records: Tuple[int, ...] = (), **call: Any) -> bytes:
        async def read(response: Response) -> bytes:
            try:
                return await response.read()
            finally:
                response.close()

        return await self._call(read, method, path, records, **call)

    async def pages(
        self, method: str, path: str, *, items: str, query: Mapping[str, Any], **call: Any
    ) -> AsyncIterator[Any]:
        cursor = query.get("cursor")
        while True:
            page = await self.json(method, path, query={**query, "cursor": cursor}, **call)
            for item in page[items]:
                yield item
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def events(self, method: str, path: str, **call: Any) -> AsyncIterator[Event[Any, Any]]:
        async for event, data in self._stream(method, path, **call):
            if event:
                yield Event(event, json.loads(data) if data else None)

    async def frames(self, method: str, path: str, **call: Any) -> AsyncIterator[Any]:
        # An answer in frames is kept whole by the gateway for a key: not without being asked.
        call.pop("idempotent", None)
        async for _, data in self._stream(method, path, **call):
            if data:
                yield json.loads(data)

    async def sleep(self, seconds: float) -> None:
        await sleep(seconds)

    async def _stream(self, method: str, path: str, **call: Any) -> AsyncIterator[Tuple[str, str]]:
        async def keep(response: Response) -> Response:
            return response

        response = await self._call(keep, method, path, (), accept="text/event-stream", **call)
        try:
            frames = Frames()
            async for line in response.lines():
                for frame in frames.line(line):
                    yield frame
        finally:
            response.close()

    async def _call(
        self,
        take: Callable[[Response], Awaitable[T]],
        method: str,
        path: str,
        records: Tuple[int, ...],
        **call: Any,
    ) -> T:
        request = self.request(method, path, **call)
        attempts = Attempts(request)
        while True:
            try:
                response = await open_response(self, request)
                ignored = response.headers.get("x-svc-ignored-fields")
                if ignored is not None:
                    warnings.warn(f"the gateway ignores these fields: {ignored}", stacklevel=2)
                if response.status < 300 or response.status in records:
                    return await take(response)
                try:
                    raise failure_of(response.status, response.headers, await response.read())
                finally:
                    response.close()
            except SvcError as failure:
                wait = attempts.pause(failure)
            await sleep(wait)
