"""streams.py: collectors that are streams of a Redis, for a URL such as ``redis://queue.example.net:6379/events``.

Each Event is an entry of the stream with two fields: ``id``, by which a consumer can leave out what comes again, and
``event``, the CloudEvent. A batch is one transaction: all of it is there, or nothing. Needs the package ``redis``.
"""

from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec
from posting import TIMEOUT, Answer, Collector
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as NoAnswer

UNAVAILABLE = 503


class Streams(Collector):
    """As `Collector`, also for URLs of Redis, whose password is in the token file. Closes its connections."""

    def __init__(self, session: aiohttp.ClientSession, token_file: str = "") -> None:
        super().__init__(session, token_file)
        self._clients: dict[tuple[str, str | None], Redis] = {}

    async def post(self, url: str, batch: bytes) -> Answer:
        """Adds a batch to the stream. A Redis that refuses it (it is full, or still reads its file) is busy."""
        if not url.startswith(("redis:", "rediss:")):
            return await super().post(url, batch)
        events: list[dict[str, Any]] = msgspec.json.decode(batch)
        try:
            async with self._client(url).pipeline(transaction=True) as adding:
                for event in events:
                    adding.xadd(urlsplit(url).path[1:], {"id": event["id"], "event": msgspec.json.encode(event)})
                await adding.execute()
        except (NoConnection, NoAnswer) as problem:
            raise ConnectionError(str(problem)) from problem
        except RedisError as refusal:
            return Answer(UNAVAILABLE, words=str(refusal))
        return Answer(202)

    def _client(self, url: str) -> Redis:
        """The client for a server and a password, which may have been replaced in its file."""
        place, password = urlsplit(url), self.token() or None
        client = self._clients.get((place.netloc, password))
        if client is None:
            client = self._clients[place.netloc, password] = Redis(
                host=place.hostname or "localhost",
                port=place.port or 6379,
                password=password,
                ssl=place.scheme == "rediss",
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=Retry(NoBackoff(), 0),  # the operator repeats, when it may
            )
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            await client.aclose()
