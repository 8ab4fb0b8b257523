"""A sandbox for the common path."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, List, Optional, Type, Union, cast

from .. import types
from .._request import SvcError

if TYPE_CHECKING:
    from .. import AsyncClient


class AsyncSandbox:
    """An isolated workspace; `async with` destroys it at the end of its block."""

    def __init__(self, client: "AsyncClient", id: str) -> None:
        self._client = client
        self.id = id

    @classmethod
    async def create(cls, client: "AsyncClient", **options: Any) -> "AsyncSandbox":
        """Makes one; `options` are the fields of `types.NewSandbox`."""
        return cls(client, (await client.sandboxes.create(cast(types.NewSandbox, options)))["id"])

    @classmethod
    async def open(cls, client: "AsyncClient", id: str) -> "AsyncSandbox":
        """One that exists; raises `SvcError` `not_found` when it does not."""
        return cls(client, (await client.sandboxes.get(id))["id"])

    @staticmethod
    def list(client: "AsyncClient", **query: Any) -> AsyncIterator[types.Sandbox]:
        """Those of the account, as the gateway knows them: the live ones first; `query` may name a `status`."""
        return client.sandboxes.list_all(**query)

    async def set_timeout(self, seconds: int) -> None:
        """Lets it live so many seconds from now (60 to 604,800); of a paused one, from its resume."""
        await self._client.sandboxes.update(self.id, {"ttl_seconds": seconds})

    async def exec(
        self,
        command: Union[str, List[str]],
        *,
        on_output: Optional[Callable[[str, str], None]] = None,
        **options: Any,
    ) -> types.ExecResult:
        """Runs a line of bash, or a program with its arguments; a command that fails is a result with its `exit_code`.

        `on_output` gets text and stream as they come; `options` are the further fields of `types.Command`.
        """
        what = {"shell": command} if isinstance(command, str) else {"cmd": command}
        body = cast(types.Command, {**options, **what})
        if on_output is None:
            return await self._client.sandboxes.exec(self.id, body)
        output: Any = {"stdout": "", "stderr": "", "truncated": []}
        async for frame in self._client.sandboxes.exec_frames(self.id, body):
            said = cast(Any, frame)
            if said["type"] == "truncated":
                output["truncated"].append(said["stream"])
            elif said["type"] in ("stdout", "stderr"):
                output[said["type"]] += said["data"]
                on_output(said["data"], said["type"])
            elif said["type"] == "error":
                raise SvcError(200, said["code"], said["message"])
            elif said["type"] == "exit":
                return cast(types.ExecResult, {**{k: v for k, v in said.items() if k != "type"}, **output})
        raise SvcError(0, "connection_error", "the stream ended before the command did; it may have been ended with it")

    async def run_code(self, code: str, **options: Any) -> types.CodeResult:
        """Runs a cell in the Python kernel, whose variables live on."""
        return await self._client.sandboxes.run_code(self.id, cast(Any, {**options, "code": code}))

    async def write_file(self, path: str, content: Union[str, bytes]) -> None:
        """Writes a file, whole or not at all; the path is relative to `/workspace`."""
        data = content.encode("utf-8") if isinstance(content, str) else content
        await self._client.sandboxes.write_file(self.id, path, data)

    async def read_file(self, path: str) -> bytes:
        """The bytes of a file."""
        return await self._client.sandboxes.read_file(self.id, path)

    async def read_text(self, path: str) -> str:
        """The text of a file."""
        return (await self.read_file(path)).decode("utf-8")

    async def list_files(self, path: str = "") -> List[Any]:
        """The entries of a directory, one level."""
        return cast(List[Any], (await self._client.sandboxes.list_files(self.id, path=path))["entries"])

    async def preview_url(self, port: int, ttl_seconds: int = 900) -> str:
        """An address that forwards HTTP and WebSocket to a port inside, for anyone who has it."""
        return (await self._client.sandboxes.preview(self.id, {"port": port, "ttl_seconds": ttl_seconds}))["url"]

    async def pause(self, *, files_only: bool = False) -> None:
        """Keeps memory, processes and files, and stops; `files_only` where the memory cannot be kept."""
        await self._client.sandboxes.pause(self.id, {"files_only": True} if files_only else {})

    async def resume(self) -> bool:
        """Goes on where the pause left off; False when the memory was lost and the files are what is left."""
        return (await self._client.sandboxes.resume(self.id))["restored"]

    async def fork(self, count: int = 1) -> List["AsyncSandbox"]:
        """Makes copies with memory, processes and files; raises the first failure, after ending the copies that came up."""
        made = (await self._client.sandboxes.fork(self.id, {"count": count}))["data"]
        copies = [AsyncSandbox(self._client, cast(Any, one)["id"]) for one in made if "error" not in one]
        failed = [cast(Any, one)["error"] for one in made if "error" in one]
        if not failed:
            return copies
        for copy in copies:
            try:
                await copy.remove()
            except SvcError:
                # The first failure is what is raised.
                pass
        raise SvcError(200, "sandbox_capacity", failed[0])

    async def record(self) -> types.Sandbox:
        """As the gateway knows it now."""
        return await self._client.sandboxes.get(self.id)

    async def remove(self) -> None:
        """Destroys it with its workspace; a repeat does nothing more."""
        await self._client.sandboxes.remove(self.id)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.remove()
