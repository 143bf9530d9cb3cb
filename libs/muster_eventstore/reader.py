"""The checkpointed reader: strict order, no acknowledgements, resumes from its own position after any fault."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import nats.errors
import structlog
from nats.aio.client import Client
from nats.js import api
from nats.js.errors import APIError

from muster_eventstore.errors import StreamRegressed
from muster_eventstore.patience import is_passing, pause, refused
from muster_eventstore.port import Chunk
from muster_eventstore.pull import Pull, PullBroken, pending_behind, to_stored

log = structlog.get_logger("muster.eventstore")
_FOR_EVER = 3600.0  # seconds; silence is noticed by missing heartbeats long before
_CONSUMER_GONE = 10014


@dataclass(frozen=True, slots=True)
class Pace:
    """How many messages a reader asks for at once, and how often, in seconds, the server says that it lives."""

    batch: int = 500
    heartbeat: float = 1.0


async def read(
    client: Client, stream: str, subjects: Sequence[str], after: int, pace: Pace
) -> AsyncGenerator[Chunk, None]:
    """Chunks behind `after` for ever; see `EventStore.read`."""
    position = after
    while True:
        try:
            async with contextlib.aclosing(_session(client, stream, subjects, position, pace)) as session:
                async for chunk in session:
                    if chunk.messages:
                        position = chunk.messages[-1].sequence
                    yield chunk
        except PullBroken as broken:
            log.info("reader resumes", stream=stream, after=position, because=str(broken))
        except (APIError, nats.errors.Error) as error:
            if not is_passing(error) and not (isinstance(error, APIError) and error.err_code == _CONSUMER_GONE):
                raise refused(f"stream {stream!r}", error) from error
            log.info("reader waits for the server", stream=stream, after=position, because=str(error))
        await pause(client)


async def _session(
    client: Client, stream: str, subjects: Sequence[str], after: int, pace: Pace
) -> AsyncGenerator[Chunk, None]:
    js = client.jetstream()
    info = await js.stream_info(stream)
    if info.state.last_seq < after:
        raise StreamRegressed(stream, after, info.state.last_seq)
    consumer = await js.add_consumer(
        stream,
        api.ConsumerConfig(
            filter_subjects=list(subjects) or None,
            ack_policy=api.AckPolicy.NONE,
            mem_storage=True,
            num_replicas=1,
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            inactive_threshold=30,
        ),
    )
    pull = Pull(client, stream, consumer.name, batch=pace.batch, heartbeat=pace.heartbeat)
    try:
        await pull.open()
        if not consumer.num_pending:
            yield Chunk((), 0)
        while True:
            messages = await pull.take(_FOR_EVER)
            if messages:
                yield Chunk([to_stored(stream, message) for message in messages], pending_behind(messages[-1]))
    finally:
        await pull.close()
