"""Makes calls; the operations are generated on top of it."""

# Written from `_async` by `npm run generate`; changes here are lost.

from __future__ import annotations

import json
import warnings
from typing import Any, Iterator, Callable, Mapping, Tuple, TypeVar

from .._request import Attempts, Event, Frames, Settings, SvcError, failure_of
from .http import Response, open_response, sleep

T = TypeVar("T")


class Transport(Settings):
    """Makes calls, again where that is safe and may help."""

    def json(self, method: str, path: str, *, records: Tuple[int, ...] = (), **call: Any) -> Any:
        return json.loads(self.bytes(method, path, records=records, **call))

    def text(self, method: str, path: str, **call: Any) -> str:
        return (self.bytes(method, path, **call)).decode("utf-8")

    def nothing(self, method: str, path: str, **call: Any) -> None:
        self.bytes(method, path, **call)

    def bytes(self, method: str, path: str, *, records: Tuple[int, ...] = (), **call: Any) -> bytes:
        def read(response: Response) -> bytes:
            try:
                return response.read()
            finally:
                response.close()

        return self._call(read, method, path, records, **call)

    def pages(
        self, method: str, path: str, *, items: str, query: Mapping[str, Any], **call: Any
    ) -> Iterator[Any]:
        cursor = query.get("cursor")
        while True:
            page = self.json(method, path, query={**query, "cursor": cursor}, **call)
            for item in page[items]:
                yield item
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def events(self, method: str, path: str, **call: Any) -> Iterator[Event[Any, Any]]:
        for event, data in self._stream(method, path, **call):
            if event:
                yield Event(event, json.loads(data) if data else None)

    def frames(self, method: str, path: str, **call: Any) -> Iterator[Any]:
        # An answer in frames is kept whole by the gateway for a key: not without being asked.
        call.pop("idempotent", None)
        for _, data in self._stream(method, path, **call):
            if data:
                yield json.loads(data)

    def sleep(self, seconds: float) -> None:
        sleep(seconds)

    def _stream(self, method: str, path: str, **call: Any) -> Iterator[Tuple[str, str]]:
        def keep(response: Response) -> Response:
            return response

        response = self._call(keep, method, path, (), accept="text/event-stream", **call)
        try:
            frames = Frames()
            for line in response.lines():
                for frame in frames.line(line):
                    yield frame
        finally:
            response.close()

    def _call(
        self,
        take: Callable[[Response], T],
        method: str,
        path: str,
        records: Tuple[int, ...],
        **call: Any,
    ) -> T:
        request = self.request(method, path, **call)
        attempts = Attempts(request)
        while True:
            try:
                response = open_response(self, request)
                ignored = response.headers.get("x-svc-ignored-fields")
                if ignored is not None:
                    warnings.warn(f"the gateway ignores these fields: {ignored}", stacklevel=2)
                if response.status < 300 or response.status in records:
                    return take(response)
                try:
                    raise failure_of(response.status, response.headers, response.read())
                finally:
                    response.close()
            except SvcError as failure:
                wait = attempts.pause(failure)
            sleep(wait)
