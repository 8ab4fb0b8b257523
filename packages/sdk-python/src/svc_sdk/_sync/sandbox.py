"""A sandbox for the common path."""

# Written from `_async` by `npm run generate`; changes here are lost.

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterator, Callable, List, Optional, Type, Union, cast

from .. import types
from .._request import SvcError

if TYPE_CHECKING:
    from .. import Client


class Sandbox:
    """An isolated workspace; `with` destroys it at the end of its block."""

    def __init__(self, client: "Client", id: str) -> None:
        self._client = client
        self.id = id

    @classmethod
    def create(cls, client: "Client", **options: Any) -> "Sandbox":
        """Makes one; `options` are the fields of `types.NewSandbox`."""
        return cls(client, (client.sandboxes.create(cast(types.NewSandbox, options)))["id"])

    @classmethod
    def open(cls, client: "Client", id: str) -> "Sandbox":
        """One that exists; raises `SvcError` `not_found` when it does not."""
        return cls(client, (client.sandboxes.get(id))["id"])

    @staticmethod
    def list(client: "Client", **query: Any) -> Iterator[types.Sandbox]:
        """Those of the account, as the gateway knows them: the live ones first; `query` may name a `status`."""
        return client.sandboxes.list_all(**query)

    def set_timeout(self, seconds: int) -> None:
        """Lets it live so many seconds from now (60 to 604,800); of a paused one, from its resume."""
        self._client.sandboxes.update(self.id, {"ttl_seconds": seconds})

    def exec(
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
            return self._client.sandboxes.exec(self.id, body)
        output: Any = {"stdout": "", "stderr": "", "truncated": []}
        for frame in self._client.sandboxes.exec_frames(self.id, body):
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

    def run_code(self, code: str, **options: Any) -> types.CodeResult:
        """Runs a cell in the Python kernel, whose variables live on."""
        return self._client.sandboxes.run_code(self.id, cast(Any, {**options, "code": code}))

    def write_file(self, path: str, content: Union[str, bytes]) -> None:
        """Writes a file, whole or not at all; the path is relative to `/workspace`."""
        data = content.encode("utf-8") if isinstance(content, str) else content
        self._client.sandboxes.write_file(self.id, path, data)

    def read_file(self, path: str) -> bytes:
        """The bytes of a file."""
        return self._client.sandboxes.read_file(self.id, path)

    def read_text(self, path: str) -> str:
        """The text of a file."""
        return (self.read_file(path)).decode("utf-8")

    def list_files(self, path: str = "") -> List[Any]:
        """The entries of a directory, one level."""
        return cast(List[Any], (self._client.sandboxes.list_files(self.id, path=path))["entries"])

    def preview_url(self, port: int, ttl_seconds: int = 900) -> str:
        """An address that forwards HTTP and WebSocket to a port inside, for anyone who has it."""
        return (self._client.sandboxes.preview(self.id, {"port": port, "ttl_seconds": ttl_seconds}))["url"]

    def pause(self, *, files_only: bool = False) -> None:
        """Keeps memory, processes and files, and stops; `files_only` where the memory cannot be kept."""
        self._client.sandboxes.pause(self.id, {"files_only": True} if files_only else {})

    def resume(self) -> bool:
        """Goes on where the pause left off; False when the memory was lost and the files are what is left."""
        return (self._client.sandboxes.resume(self.id))["restored"]

    def fork(self, count: int = 1) -> List["Sandbox"]:
        """Makes copies with memory, processes and files; raises the first failure, after ending the copies that came up."""
        made = (self._client.sandboxes.fork(self.id, {"count": count}))["data"]
        copies = [Sandbox(self._client, cast(Any, one)["id"]) for one in made if "error" not in one]
        failed = [cast(Any, one)["error"] for one in made if "error" in one]
        if not failed:
            return copies
        for copy in copies:
            try:
                copy.remove()
            except SvcError:
                # The first failure is what is raised.
                pass
        raise SvcError(200, "sandbox_capacity", failed[0])

    def record(self) -> types.Sandbox:
        """As the gateway knows it now."""
        return self._client.sandboxes.get(self.id)

    def remove(self) -> None:
        """Destroys it with its workspace; a repeat does nothing more."""
        self._client.sandboxes.remove(self.id)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.remove()
