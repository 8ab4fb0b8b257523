"""A client of svc: every operation of its API, and sandboxes, hosts and changes for the common path."""

from __future__ import annotations

from typing import Mapping, Optional

from . import types
from ._async.follow import AsyncFollowing
from ._async.follow import follow as async_follow
from ._async.host import AsyncHost
from ._async.operations import AsyncOperations
from ._async.sandbox import AsyncSandbox
from ._async.transport import AsyncTransport
from ._async.upload import upload_file as async_upload_file
from ._request import CallOptions, Event, SvcError
from ._sync.follow import Following, follow
from ._sync.host import Host
from ._sync.sandbox import Sandbox
from ._sync.transport import Transport
from ._sync.upload import upload_file
from .operations import Operations

__all__ = [
    "AsyncClient",
    "AsyncFollowing",
    "AsyncHost",
    "AsyncSandbox",
    "CallOptions",
    "Client",
    "Event",
    "Following",
    "Host",
    "Sandbox",
    "SvcError",
    "async_follow",
    "async_upload_file",
    "follow",
    "types",
    "upload_file",
]


class Client(Operations):
    """`client.<feature>.<operation>(…)` for every operation; failures raise `SvcError`.

    `base_url` and `api_key` come from `SVC_BASE_URL` and `SVC_API_KEY` unless they are given. A call is made again at
    most `retries` times when the gateway asks for it, or when its answer was lost and a repeat does nothing twice;
    `timeout` is seconds that the gateway may be silent, 0 for ever.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        retries: int = 2,
        timeout: float = 60.0,
        device: Optional[Mapping[str, str]] = None,
    ) -> None:
        transport = Transport(base_url, api_key, retries, timeout, device)
        super().__init__(transport)
        self._sleep = transport.sleep


class AsyncClient(AsyncOperations):
    """As `Client`, on `asyncio`: operations are awaited, lists and streams read with `async for`.

    A task that is cancelled ends its request. Each call has a connection of its own; proxies of the environment are not used.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        retries: int = 2,
        timeout: float = 60.0,
        device: Optional[Mapping[str, str]] = None,
    ) -> None:
        transport = AsyncTransport(base_url, api_key, retries, timeout, device)
        super().__init__(transport)
        self._sleep = transport.sleep
