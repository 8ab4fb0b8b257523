"""What happens to an account, without gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, AsyncIterator, Optional, Sequence, Union

from .._request import CallOptions, SvcError, pause_of

if TYPE_CHECKING:
    from .. import AsyncClient, types

#: The gateway writes `: ping` every 15 s: a connection that is silent for so long is gone.
SILENCE_S = 45.0


class AsyncFollowing:
    """The changes of an account, as they come; for one reader."""

    def __init__(self, client: "AsyncClient", topics: Optional[Sequence[str]], after: Optional[str]) -> None:
        self._client = client
        self._topics = None if topics is None else ",".join(topics)
        self._failures = 0
        #: Everything before it was yielded: the `after` with which another program goes on.
        self.cursor = after

    async def __aiter__(self) -> AsyncIterator[Union[types.Change, types.Missed]]:
        while True:
            asked = 0.0
            try:
                async for change in self._changes():
                    yield change
            except SvcError as failure:
                if failure.status in (400, 401, 403, 404):
                    raise
                asked = failure.retry_after or 0.0
            except ValueError:
                # What came is no JSON: cut by a proxy.
                pass
            self._failures += 1
            await self._client._sleep(max(asked, pause_of(self._failures)))

    async def _changes(self) -> AsyncIterator[Union[types.Change, types.Missed]]:
        """What one connection brings, until it ends."""
        options = CallOptions(retries=0, timeout=SILENCE_S)
        async for told in self._client.events.stream(topics=self._topics, after=self.cursor, options=options):
            if told.event == "ready":
                self._failures = 0
                is_new, self.cursor = self.cursor is None, told.data["cursor"]
                if is_new or told.data["missed"]:
                    yield {"missed": True, "cursor": told.data["cursor"]}
            elif told.event == "change":
                self.cursor = told.data["cursor"]
                yield told.data


def follow(
    client: "AsyncClient", topics: Optional[Sequence[str]] = None, after: Optional[str] = None
) -> AsyncFollowing:
    """Follows the changes of an account over every loss of the connection, for as long as it is read.

    Without `topics` it follows all that the key may read.

    It connects again after 0.5 to 15 s, goes on after its cursor, and yields nothing twice. Read what you show when it yields
    `{"missed": True}`, which it also does first when `after` is unset: what changes while you read comes next. Raises the
    `SvcError` for a 400, 401, 403 or 404.
    """
    return AsyncFollowing(client, topics, after)
