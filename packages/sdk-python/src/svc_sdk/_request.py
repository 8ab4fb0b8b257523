"""One call, whoever makes it: its address, its time, its failures, its repeats, and the frames of its answer."""

from __future__ import annotations

import json
import os
import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Generic, Iterator, List, Mapping, NamedTuple, Optional, Tuple, TypeVar, Union
from urllib.parse import urlencode

LONGEST_WAIT_S = 60.0
#: Longer than any frame of the gateway: a body without ends of lines does not fill the memory.
MOST_FRAME_BYTES = 32 * 1024 * 1024
#: Statuses by which a proxy says that it had no answer for us.
FROM_PROXY = (408, 502, 503, 504)


class SvcError(Exception):
    """A failure that the gateway answered, or with status 0 one without an answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Optional[Mapping[str, Any]] = None,
        trace_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        may_repeat: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        #: A code of the API, or `connection_error`, `timeout`, `host_failed`, `unknown`.
        self.code = code
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        #: To quote in a report.
        self.trace_id = trace_id
        #: Seconds after which the gateway asks to try again.
        self.retry_after = retry_after
        #: False when the gateway says that a repeat is of no use.
        self.may_repeat = may_repeat

    @property
    def field_errors(self) -> Mapping[str, Any]:
        """Messages of each faulty field of a `bad_request`, by its path."""
        return self.details.get("fieldErrors") or {}


@dataclass
class CallOptions:
    """Settings of one call; what is unset is the client's."""

    #: A repeat within 24 h answers the stored response.
    idempotency_key: Optional[str] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retries: Optional[int] = None
    #: Seconds.
    timeout: Optional[float] = None


if TYPE_CHECKING:
    EventName = TypeVar("EventName", bound=str)
    EventData = TypeVar("EventData")

    class Event(NamedTuple, Generic[EventName, EventData]):
        """A named event of a stream: a comparison of `event` tells the type of `data`."""

        event: EventName
        data: EventData

else:
    # Python before 3.11 has no generic one.
    class Event(NamedTuple):
        """A named event of a stream."""

        event: str
        data: Any


@dataclass
class Request:
    """A call as it is sent."""

    method: str
    url: str
    headers: Dict[str, str]
    content: Optional[bytes]
    #: Seconds that the gateway may be silent.
    timeout: Optional[float]
    retries: int
    #: Doing it twice does no more than once; a PATCH sets fields, as PUT does.
    is_repeatable: bool


class Settings:
    """How a client reaches the gateway and who it is."""

    def __init__(
        self,
        base_url: Optional[str],
        api_key: Optional[str],
        retries: int,
        timeout: float,
        device: Optional[Mapping[str, str]],
    ) -> None:
        given = base_url or os.environ.get("SVC_BASE_URL") or "http://localhost:8787"
        self.base_url = given.rstrip("/")
        # Relays may have a name of their own.
        self.relay_url = (os.environ.get("SVC_RELAY_URL") or f"{self.base_url}/relay").rstrip("/")
        self._retries = retries
        self._timeout = timeout
        key = api_key or os.environ.get("SVC_API_KEY")
        self._headers: Dict[str, str] = {"authorization": f"Bearer {key}"} if key else {}
        for name, header in (("id", "x-svc-device"), ("name", "x-svc-device-name"), ("platform", "x-svc-device-platform")):
            if device and device.get(name):
                # Header values are bytes; the gateway reads them as UTF-8.
                self._headers[header] = device[name].encode("utf-8").decode("latin-1")

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        data: Union[bytes, str, None] = None,
        idempotent: bool = False,
        accept: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> Request:
        options = options or CallOptions()
        retries = self._retries if options.retries is None else options.retries
        headers = dict(self._headers)
        content: Optional[bytes] = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body).encode("utf-8")
        elif data is not None:
            headers["content-type"] = "text/plain" if isinstance(data, str) else "application/octet-stream"
            content = data.encode("utf-8") if isinstance(data, str) else data
            # Of the ping routes, whose body is for POST.
            method = "POST" if method == "GET" else method
        if accept is not None:
            headers["accept"] = accept
        key = options.idempotency_key or (uuid.uuid4().hex if idempotent and retries > 0 else None)
        if key is not None:
            headers["idempotency-key"] = key
        headers.update(options.headers)
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        base = self.base_url
        if path.startswith("/relay/"):
            base, path = self.relay_url, path[len("/relay") :]
        url = base + path + (f"?{urlencode(pairs)}" if pairs else "")
        timeout = _timeout_of(self._timeout if options.timeout is None else options.timeout, pairs, body)
        is_repeatable = key is not None or method in ("GET", "PUT", "PATCH", "DELETE")
        return Request(method, url, headers, content, timeout, retries, is_repeatable)

    def late(self) -> SvcError:
        return SvcError(0, "timeout", f"no answer from {self.base_url} in time")

    def lost(self, reason: object) -> SvcError:
        return SvcError(0, "connection_error", f"cannot reach {self.base_url}: {reason}")


class Attempts:
    """How often a call is made, and how long it waits in between."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._count = 0
        self._in_flight = 0.0

    def pause(self, failure: SvcError) -> float:
        """Seconds before the same call is made again; raises the failure when it is not."""
        request = self._request
        if failure.code == "idempotency_in_flight" and request.retries > 0:
            # The gateway still works on the attempt whose answer was lost: that takes no longer than an attempt may.
            if request.timeout is not None and self._in_flight > request.timeout:
                raise failure
            wait = 1.0 if failure.retry_after is None else failure.retry_after
            self._in_flight += wait
            return wait
        back_off = 0.5 * 2**self._count * (1 + random.random())
        self._count += 1
        if self._count > request.retries:
            raise failure
        if failure.status in (429, 503) and failure.retry_after is not None:
            if not failure.may_repeat or failure.retry_after > LONGEST_WAIT_S:
                raise failure
            return max(failure.retry_after, back_off)
        is_lost = failure.code in ("connection_error", "timeout") or (
            failure.code == "unknown" and failure.status in FROM_PROXY
        )
        if is_lost and request.is_repeatable:
            return back_off
        raise failure


class Frames:
    """Reads an SSE stream line by line."""

    def __init__(self) -> None:
        self._event = ""
        self._data: List[str] = []
        self._length = 0

    def line(self, raw: bytes) -> Iterator[Tuple[str, str]]:
        """The frame that ends with this line, as event and data, if one does."""
        self._length += len(raw)
        if self._length > MOST_FRAME_BYTES:
            raise SvcError(0, "unknown", "a frame has no end")
        text = raw.decode("utf-8").rstrip("\r\n")
        if text.startswith("event:"):
            self._event = text[6:].strip()
        elif text.startswith("data:"):
            self._data.append(text[5:].lstrip())
        elif text == "":
            yield self._event, "".join(self._data)
            self._event, self._data, self._length = "", [], 0


def pause_of(failures: int) -> float:
    """Seconds before a stream is opened again after so many failures in a row: full jitter under a cap that doubles."""
    return random.uniform(0.5, min(15.0, 0.5 * 2 ** min(failures, 30)))


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> SvcError:
    """Reads the envelope `{ error: { message, code, details } }`; tolerates an answer that is not ours."""
    try:
        error = json.loads(body)["error"]
        code, message, details = error.get("code", "unknown"), error.get("message"), error.get("details")
    except (ValueError, KeyError, TypeError, AttributeError):
        code, message, details = "unknown", None, None
    try:
        retry_after: Optional[float] = float(headers.get("retry-after") or "")
    except ValueError:
        retry_after = None
    may_repeat = headers.get("x-should-retry") != "false"
    trace_id = headers.get("x-svc-trace-id")
    return SvcError(status, code, message or f"HTTP {status}", details, trace_id, retry_after, may_repeat)


def _timeout_of(timeout: float, query: Mapping[str, Any], body: Any) -> Optional[float]:
    """Seconds that an attempt may be silent: a call that says how long it takes has that beside the client's own."""
    if timeout == 0:
        return None
    said = {**query, **(body if isinstance(body, dict) else {})}
    units = (("timeout_seconds", 1.0), ("timeout_ms", 0.001), ("wait_s", 1.0))
    own = [said[name] * unit for name, unit in units if isinstance(said.get(name), (int, float))]
    return timeout + max(own, default=0.0)
