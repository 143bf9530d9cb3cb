"""A durable JetStream consumer: upserted, pulled with heartbeats, resumed after a server restart."""

from collections.abc import Sequence
from dataclasses import dataclass

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api
from nats.js.errors import APIError

from muster_eventstore.patience import is_passing, patiently, pause
from muster_eventstore.port import ConsumerSpec, Start, StoredMessage
from muster_eventstore.pull import Pull, PullBroken, delivery_count, to_stored

log = structlog.get_logger("muster.eventstore")


@dataclass(frozen=True, slots=True)
class JetStreamDelivery:
    """A message of a durable consumer. Answers are fire and forget: a lost one only means a repeat."""

    message: StoredMessage
    attempt: int
    raw: Msg

    async def ack(self) -> None:
        await self._answer(Msg.Ack.Ack)

    async def term(self) -> None:
        await self._answer(Msg.Ack.Term)

    async def nak(self) -> None:
        await self._answer(Msg.Ack.Nak)

    async def in_progress(self) -> None:
        await self._answer(Msg.Ack.Progress)

    async def _answer(self, answer: bytes) -> None:
        client = self.raw._client  # pyright: ignore[reportPrivateUsage] -- nats-py's own ack() cannot be repeated
        try:
            await client.publish(self.raw.reply, answer)
        except nats.errors.Error as error:
            log.info("answer not sent, the message will come again", subject=self.message.subject, because=str(error))


class JetStreamInbox:
    """An open durable consumer."""

    def __init__(self, client: Client, spec: ConsumerSpec, *, heartbeat: float) -> None:
        self._client = client
        self._spec = spec
        self._heartbeat = heartbeat
        self._pull: Pull | None = None

    async def open(self) -> None:
        """Upsert the consumer and, when it is this process's alone, take back what an earlier one left unfinished."""
        await patiently(self._client, f"consumer {self._spec.durable!r}", self._upsert)
        if self._spec.start is Start.RESET:
            await patiently(self._client, f"consumer {self._spec.durable!r}", self._reset)

    async def fetch(self, wait: float) -> Sequence[JetStreamDelivery]:
        try:
            if self._pull is None:
                self._pull = await self._new_pull()
            messages = await self._pull.take(wait)
        except (PullBroken, APIError, nats.errors.Error) as error:
            if isinstance(error, APIError) and not is_passing(error):
                log.warning("consumer is made again", durable=self._spec.durable, because=str(error))
            else:
                log.info("consumer resumes", durable=self._spec.durable, because=str(error))
            await self._drop_pull()
            await pause(self._client)
            await patiently(self._client, f"consumer {self._spec.durable!r}", self._upsert)
            return ()
        return [
            JetStreamDelivery(to_stored(self._spec.stream, message), delivery_count(message), message)
            for message in messages
        ]

    async def close(self) -> None:
        if self._pull is None:
            return
        waiting = self._pull.drain()
        await self._drop_pull()
        for message in waiting:
            await JetStreamDelivery(to_stored(self._spec.stream, message), delivery_count(message), message).nak()

    async def _new_pull(self) -> Pull:
        batch = max(1, min(256, self._spec.max_ack_pending))
        pull = Pull(self._client, self._spec.stream, self._spec.durable, batch=batch, heartbeat=self._heartbeat)
        await pull.open()
        return pull

    async def _drop_pull(self) -> None:
        if self._pull is not None:
            await self._pull.close()
            self._pull = None

    async def _upsert(self) -> None:
        await self._client.jetstream().add_consumer(
            self._spec.stream,
            api.ConsumerConfig(
                durable_name=self._spec.durable,
                filter_subjects=list(self._spec.subjects),
                ack_policy=api.AckPolicy.EXPLICIT,
                ack_wait=self._spec.ack_wait,
                max_ack_pending=self._spec.max_ack_pending,
                max_deliver=-1,
            ),
        )

    async def _reset(self) -> None:
        await self._client.jetstream().reset_consumer(self._spec.stream, self._spec.durable)
