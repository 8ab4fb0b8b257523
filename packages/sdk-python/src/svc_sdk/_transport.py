"""One call: its address, its time, its repeats, its answer."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import urlencode

LONGEST_WAIT_S = 60.0


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


class Event(NamedTuple):
    """A named event of a stream."""

    event: str
    data: Any


class Transport:
    """Makes calls; the operations are generated on top of it."""

    def __init__(
        self,
        base_url: Optional[str],
        api_key: Optional[str],
        retries: int,
        timeout: float,
        device: Optional[Mapping[str, str]],
    ) -> None:
        given = base_url or os.environ.get("SVC_BASE_URL") or "http://127.0.0.1:8787"
        self._base_url = given.rstrip("/")
        self._retries = retries
        self._timeout = timeout
        key = api_key or os.environ.get("SVC_API_KEY")
        self._headers: Dict[str, str] = {"authorization": f"Bearer {key}"} if key else {}
        for name, header in (("id", "x-svc-device"), ("name", "x-svc-device-name"), ("platform", "x-svc-device-platform")):
            if device and device.get(name):
                # Header values are bytes; the gateway reads them as UTF-8.
                self._headers[header] = device[name].encode("utf-8").decode("latin-1")

    def json(self, method: str, path: str, *, records: Tuple[int, ...] = (), **call: Any) -> Any:
        with self._send(method, path, records=records, **call) as response:
            return json.loads(self._read(response))

    def text(self, method: str, path: str, **call: Any) -> str:
        return self.bytes(method, path, **call).decode("utf-8")

    def bytes(self, method: str, path: str, **call: Any) -> bytes:
        with self._send(method, path, **call) as response:
            return self._read(response)

    def nothing(self, method: str, path: str, **call: Any) -> None:
        self.bytes(method, path, **call)

    def pages(self, method: str, path: str, *, items: str, query: Mapping[str, Any], **call: Any) -> Iterator[Any]:
        cursor = query.get("cursor")
        while True:
            page = self.json(method, path, query={**query, "cursor": cursor}, **call)
            yield from page[items]
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def events(self, method: str, path: str, **call: Any) -> Iterator[Event]:
        for event, data in self._stream(method, path, **call):
            if event:
                yield Event(event, json.loads(data) if data else None)

    def frames(self, method: str, path: str, **call: Any) -> Iterator[Any]:
        # An answer in frames is kept whole by the gateway for a key: not without being asked.
        call.pop("idempotent", None)
        for _, data in self._stream(method, path, **call):
            if data:
                yield json.loads(data)

    def _stream(self, method: str, path: str, **call: Any) -> Iterator[Tuple[str, str]]:
        with self._send(method, path, accept="text/event-stream", **call) as response:
            event, data = "", []
            try:
                for raw in response:
                    line = raw.decode("utf-8").rstrip("\r\n")
                    if line.startswith("event:"):
                        event = line[6:].strip()
                    elif line.startswith("data:"):
                        data.append(line[5:].lstrip())
                    elif line == "":
                        yield event, "".join(data)
                        event, data = "", []
            except (OSError, http.client.HTTPException) as error:
                raise self._failure(error) from error

    def _read(self, response: Any) -> bytes:
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._failure(error) from error

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        data: Union[bytes, str, None] = None,
        idempotent: bool = False,
        records: Tuple[int, ...] = (),
        accept: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> Any:
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
        is_repeatable = key is not None or method in ("GET", "PUT", "DELETE")
        url = self._base_url + path
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        if pairs:
            url = f"{url}?{urlencode(pairs)}"
        timeout = _timeout_of(self._timeout if options.timeout is None else options.timeout, pairs, body)
        for attempt in range(retries + 1):
            try:
                request = urllib.request.Request(url, data=content, headers=headers, method=method)
                return urllib.request.urlopen(request, timeout=timeout)
            except urllib.error.HTTPError as error:
                if error.code in records:
                    return error
                failure = _from_response(error)
            except (OSError, http.client.HTTPException) as error:
                failure = self._failure(error)
            wait = _wait_of(failure, is_repeatable, attempt) if attempt < retries else None
            if wait is None:
                raise failure
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _failure(self, error: Exception) -> SvcError:
        reason = getattr(error, "reason", error)
        if isinstance(reason, (socket.timeout, TimeoutError)):
            return SvcError(0, "timeout", f"no answer from {self._base_url} in time")
        return SvcError(0, "connection_error", f"cannot reach {self._base_url}: {reason}")


def _timeout_of(timeout: float, query: Mapping[str, Any], body: Any) -> Optional[float]:
    """Seconds that an attempt may be silent: a call that says how long it takes has that beside the client's own."""
    if timeout == 0:
        return None
    said = {**query, **(body if isinstance(body, dict) else {})}
    units = (("timeout_seconds", 1.0), ("timeout_ms", 0.001), ("wait_s", 1.0))
    own = [said[name] * unit for name, unit in units if isinstance(said.get(name), (int, float))]
    return timeout + max(own, default=0.0)


def _from_response(response: urllib.error.HTTPError) -> SvcError:
    with response:
        try:
            error = json.loads(response.read())["error"]
        except (ValueError, KeyError, TypeError, OSError):
            error = {}
    headers = response.headers
    try:
        retry_after: Optional[float] = float(headers.get("retry-after") or "")
    except ValueError:
        retry_after = None
    return SvcError(
        response.code,
        error.get("code", "unknown"),
        error.get("message", f"HTTP {response.code}"),
        error.get("details"),
        headers.get("x-svc-trace-id"),
        retry_after,
        headers.get("x-should-retry") != "false",
    )


def _wait_of(failure: SvcError, is_repeatable: bool, attempt: int) -> Optional[float]:
    """Seconds before the same call is made again; None: it is not."""
    back_off = 0.5 * 2**attempt * (1 + random.random())
    if failure.status in (429, 503):
        if failure.retry_after is None or not failure.may_repeat or failure.retry_after > LONGEST_WAIT_S:
            return None
        return max(failure.retry_after, back_off)
    return back_off if failure.code == "connection_error" and is_repeatable else None
