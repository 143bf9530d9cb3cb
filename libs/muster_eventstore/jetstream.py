"""The JetStream adapter. An append follows one recipe, in this one place.

Why a recipe: the server checks the expected sequence before its duplicate window, so the retry of a stored append
answers "wrong last sequence"; and a timeout does not mean "not stored", for the client sends what it has buffered once
it is connected again. So an append is repeated unchanged until the store's answer, or the store's content, tells.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

import nats.errors
from nats.aio.client import Client
from nats.js import api
from nats.js.errors import APIError, NotFoundError

from muster_eventstore import bulk, reader
from muster_eventstore.envelope import MSG_ID, EventMeta, to_headers
from muster_eventstore.inbox import JetStreamInbox
from muster_eventstore.patience import is_passing, patiently, pause, refused
from muster_eventstore.port import (
    NO_HEADERS,
    Appended,
    Chunk,
    Conflict,
    ConsumerSpec,
    Draft,
    Inbox,
    StoredMessage,
    StreamState,
)
from muster_eventstore.reader import Pace
from muster_eventstore.subjects import stream_of

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_WRONG_SEQUENCE = (10071, 10164)
_NO_MESSAGE = 10037
_LOOK_BEHIND = (
    64  # foreign messages looked through for an own one; beyond it a conflict is reported, and reloading tells
)


class JetStreamStore:
    """`EventStore` on a NATS server. `attempt_timeout` and `heartbeat` in seconds."""

    def __init__(
        self, client: Client, *, attempt_timeout: float = 2.0, read_batch: int = 500, heartbeat: float = 1.0
    ) -> None:
        self._client = client
        self._js = client.jetstream()
        self._attempt_timeout = attempt_timeout
        self._read_batch = read_batch
        self._heartbeat = heartbeat

    @property
    def client(self) -> Client:
        """The plain connection, for FastStream and the administration of streams."""
        return self._client

    async def append(
        self, subject: str, expected: int, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended | Conflict:
        stamped = {**to_headers(meta), **headers, EXPECTED: str(expected)}
        while True:
            try:
                ack = await self._js.publish(subject, payload, self._attempt_timeout, headers=dict(stamped))
                return Appended(ack.seq)
            except (APIError, nats.errors.Error) as error:
                if isinstance(error, APIError) and error.err_code in _WRONG_SEQUENCE:
                    answer = await self._ours_or_conflict(subject, expected, meta.id)
                    if answer is not None:
                        return answer
                elif not is_passing(error):
                    raise refused(subject, error) from error
            await pause(self._client)

    async def publish(
        self, subject: str, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended:
        stamped = {**to_headers(meta), **headers}

        async def send() -> Appended:
            ack = await self._js.publish(subject, payload, self._attempt_timeout, headers=dict(stamped))
            return Appended(ack.seq)

        return await patiently(self._client, subject, send)

    async def publish_all(self, drafts: Sequence[Draft]) -> int:
        return await bulk.publish_all(self._client, drafts, self._attempt_timeout)

    def read(self, stream: str, subjects: Sequence[str] = (), after: int = 0) -> AsyncGenerator[Chunk, None]:
        return reader.read(self._client, stream, subjects, after, Pace(self._read_batch, self._heartbeat))

    async def last(self, subject: str) -> StoredMessage | None:
        stream = stream_of(subject)
        return await self._get(stream, lambda: self._js.get_last_msg(stream, subject))

    async def get(self, stream: str, sequence: int) -> StoredMessage | None:
        return await self._get(stream, lambda: self._js.get_msg(stream, sequence))

    async def delete(self, stream: str, sequence: int) -> None:
        async def delete() -> None:
            # The server has no "delete if there": ask first, so that a repeat finds it gone and ends.
            if await self.get(stream, sequence) is not None:
                await self._js.delete_msg(stream, sequence)

        await patiently(self._client, f"stream {stream!r}", delete)

    async def purge(self, subject: str) -> None:
        stream = stream_of(subject)

        async def purge() -> None:
            await self._js.purge_stream(stream, subject=subject)

        await patiently(self._client, f"stream {stream!r}", purge)

    async def state(self, stream: str) -> StreamState:
        info = await patiently(self._client, f"stream {stream!r}", lambda: self._js.stream_info(stream))
        created = "" if info.created is None else info.created.isoformat()
        return StreamState(info.state.first_seq, info.state.last_seq, info.state.messages, created)

    async def open_inbox(self, spec: ConsumerSpec) -> Inbox:
        inbox = JetStreamInbox(self._client, spec, heartbeat=self._heartbeat)
        await inbox.open()
        return inbox

    async def _ours_or_conflict(self, subject: str, expected: int, message_id: str) -> Appended | Conflict | None:
        """Refused for its sequence: ours, stored by an attempt whose answer was lost, or somebody else's?

        None: the subject stands where it was expected after all (a message was removed meanwhile); append again.
        """
        last = await self.last(subject)
        if last is None:
            return Conflict(0) if expected else None
        if last.headers.get(MSG_ID) == message_id:
            return Appended(last.sequence)
        position = expected
        for _ in range(_LOOK_BEHIND):
            found = await self._next(subject, position)
            if found is None or found.sequence >= last.sequence:
                break
            if found.headers.get(MSG_ID) == message_id:
                return Appended(found.sequence)
            position = found.sequence
        return Conflict(last.sequence) if last.sequence != expected else None

    async def _next(self, subject: str, after: int) -> StoredMessage | None:
        stream = stream_of(subject)
        return await self._get(stream, lambda: self._js.get_msg(stream, after + 1, subject=subject, next=True))

    async def _get(self, stream: str, get: Callable[[], Awaitable[api.RawStreamMsg]]) -> StoredMessage | None:
        async def fetch() -> api.RawStreamMsg | None:
            try:
                return await get()
            except NotFoundError as error:
                if error.err_code == _NO_MESSAGE:
                    return None
                raise

        raw = await patiently(self._client, f"stream {stream!r}", fetch)
        return None if raw is None else _from_raw(stream, raw)


def _from_raw(stream: str, raw: api.RawStreamMsg) -> StoredMessage:
    if raw.seq is None or raw.subject is None or raw.time is None:
        raise AssertionError(f"the server sent a message of {stream!r} without sequence, subject or time")
    return StoredMessage(stream, raw.seq, raw.subject, raw.data or b"", raw.headers or {}, raw.time)
