"""Raw pull from one JetStream consumer: credit, heartbeats and a check of the consumer's sequence.

nats-py's ordered consumers stay deaf for 10 to 20 s after a server restart and `fetch` waits for full batches; this
notices a lost server within three heartbeats and hands out messages as they come.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from muster_eventstore.connection import listen_reconnects
from muster_eventstore.port import StoredMessage

_PENDING_HEADER = "Nats-Pending-Messages"
_USED_UP = ("404", "408")


class PullBroken(Exception):
    """The consumer or the server went away, or a message was missed; open a new pull from the last position."""


class Pull:
    """Messages of one consumer, in delivery order; `expires` and `heartbeat` in seconds."""

    def __init__(self, client: Client, stream: str, consumer: str, *, batch: int, heartbeat: float = 1.0) -> None:
        self._client = client
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._batch = batch
        self._heartbeat = heartbeat
        self._expires = max(30.0, 4 * heartbeat)
        self._inbox = client.new_inbox()
        self._queue: deque[Msg] = deque()
        self._arrived = asyncio.Event()
        self._heard = asyncio.get_running_loop().time()
        self._credit = 0
        self._consumer_sequence: int | None = None
        self._broken: str | None = None
        self._subscription: Subscription | None = None
        self._end_listening: Callable[[], None] = lambda: None

    async def open(self) -> None:
        """Begin to listen, then to ask."""
        self._subscription = await self._client.subscribe(
            self._inbox, cb=self._on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        self._end_listening = listen_reconnects(self._client, self._on_reconnect)
        await self._ask()

    async def close(self) -> None:
        """Stop listening; messages on their way are not acknowledged by anyone."""
        self._end_listening()
        if self._subscription is not None and not self._client.is_closed:
            try:
                await self._subscription.unsubscribe()
            except nats.errors.Error:
                return  # the connection is going away, and the subscription with it

    def drain(self) -> list[Msg]:
        """What arrived and was not taken."""
        taken = list(self._queue)
        self._queue.clear()
        return taken

    async def take(self, wait: float) -> list[Msg]:
        """All messages that have arrived, waiting up to `wait` seconds for the first; PullBroken when none can come."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while not self._queue:
            if self._broken is not None:
                raise PullBroken(self._broken)
            silent_at = self._heard + 3 * self._heartbeat
            if loop.time() >= silent_at:
                raise PullBroken("no heartbeat")
            if loop.time() >= deadline:
                return []
            self._arrived.clear()
            try:
                async with asyncio.timeout_at(min(deadline, silent_at)):
                    await self._arrived.wait()
            except TimeoutError:
                continue
            if self._credit <= self._batch // 2 and self._broken is None:
                await self._ask()
        taken = self.drain()
        if self._credit <= self._batch // 2 and self._broken is None:
            await self._ask()
        return taken

    async def _ask(self) -> None:
        request = {
            "batch": self._batch,
            "expires": int(self._expires * 1e9),
            "idle_heartbeat": int(self._heartbeat * 1e9),
        }
        self._credit += self._batch
        try:
            await self._client.publish(self._next, json.dumps(request).encode(), reply=self._inbox)
        except nats.errors.Error as error:
            raise PullBroken(str(error)) from error

    async def _on_message(self, message: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        status = None if message.headers is None or message.data else message.headers.get("Status")
        if status is None:
            self._on_stored(message)
        elif status in _USED_UP:
            unfilled = (message.headers or {}).get(_PENDING_HEADER, "")
            self._credit -= int(unfilled) if unfilled.isdigit() else self._batch
        elif status != "100":
            self._broken = f"status {status} {(message.headers or {}).get('Description', '')}".strip()
        if status != "100":
            self._arrived.set()

    def _on_reconnect(self) -> None:
        # The requests died with the connection, and a consumer in memory with the server.
        self._broken = "the connection was lost"
        self._arrived.set()

    def _on_stored(self, message: Msg) -> None:
        sequence = consumer_sequence(message)
        expected = self._consumer_sequence
        if expected is not None and sequence != expected + 1 and self._broken is None:
            self._broken = f"consumer sequence jumps from {expected} to {sequence}"
        if self._broken is None:
            self._consumer_sequence = sequence
            self._credit -= 1
            self._queue.append(message)


def consumer_sequence(message: Msg) -> int:
    """How manieth delivery of its consumer a message is."""
    return int(message.reply.split(".")[-3])


def pending_behind(message: Msg) -> int:
    """How many matching messages were stored behind this one when it was delivered."""
    return int(message.reply.split(".")[-1])


def delivery_count(message: Msg) -> int:
    """How often the message was delivered to its consumer."""
    return int(message.reply.split(".")[-5])


def to_stored(stream: str, message: Msg) -> StoredMessage:
    """A delivered message as the stream keeps it."""
    tokens = message.reply.split(".")
    time = datetime.fromtimestamp(int(tokens[-2]) / 1e9, UTC)
    return StoredMessage(stream, int(tokens[-4]), message.subject, message.data, message.headers or {}, time)
