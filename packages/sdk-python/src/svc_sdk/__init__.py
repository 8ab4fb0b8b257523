"""A client of svc: every operation of its API, and sandboxes and hosts for the common path."""

from __future__ import annotations

from typing import Mapping, Optional

from . import types
from ._host import Host
from ._sandbox import Sandbox
from ._transport import CallOptions, Event, SvcError, Transport
from .operations import Operations

__all__ = ["CallOptions", "Client", "Event", "Host", "Sandbox", "SvcError", "types"]


class Client(Operations):
    """`client.<feature>.<operation>(…)` for every operation; failures raise `SvcError`.

    `base_url` and `api_key` come from `SVC_BASE_URL` and `SVC_API_KEY` unless they are given. A call is made again at
    most `retries` times when the gateway asks for it or a repeat does nothing twice; `timeout` is seconds that the
    gateway may be silent, 0 for ever.
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
        super().__init__(Transport(base_url, api_key, retries, timeout, device))
