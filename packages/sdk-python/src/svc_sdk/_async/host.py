"""A host for the common path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from .. import types
from .._request import SvcError

if TYPE_CHECKING:
    from .. import AsyncClient


class AsyncHost:
    """A machine that is present, and what it can be asked to do."""

    def __init__(self, client: "AsyncClient", record: types.Host) -> None:
        self._client = client
        #: As the gateway lists it.
        self.record = record

    @classmethod
    async def find(cls, client: "AsyncClient", which: str) -> "AsyncHost":
        """The host with this device id, name or hostname; raises `SvcError` `not_found` when none is present."""
        hosts = (await client.hosts.list())["hosts"]
        for by in ("device_id", "name", "hostname"):
            for host in hosts:
                if host.get(by) == which:
                    return cls(client, host)
        present = ", ".join(host["name"] for host in hosts) or "none"
        raise SvcError(0, "not_found", f"no host {which} is present; present: {present}")

    async def shell(
        self, command: str, *, cwd: Optional[str] = None, env: Optional[Dict[str, str]] = None, timeout: float = 30.0
    ) -> Dict[str, Any]:
        """Runs a command line; a command that fails is a result with its `exit_code`. `timeout` is in seconds."""
        ms = int(timeout * 1000)
        args: Dict[str, Any] = {"command": command, "timeout_ms": ms}
        args.update({name: value for name, value in (("cwd", cwd), ("env", env)) if value is not None})
        # The host ends the command; the gateway waits a little longer for it to say so.
        return await self.call("shell", args, timeout=min(timeout + 2, 300))

    async def call(self, op: str, args: Optional[Dict[str, Any]] = None, *, timeout: float = 30.0) -> Dict[str, Any]:
        """Asks for an operation; raises `SvcError` `host_failed` with the host's words when it refuses or fails."""
        body: Any = {"op": op, "args": args or {}, "timeout_ms": int(timeout * 1000)}
        answer = await self._client.hosts.exec(self.record["device_id"], body)
        if answer["ok"]:
            return answer["result"]
        raise SvcError(200, "host_failed", answer.get("error") or "the host gives no reason")
