"""FastStream at the edge of a service: subscribers with the settings that lose nothing, and the AsyncAPI document.

FastStream's defaults end a message for good on the first exception, never bring a durable up to date, let the last
service that starts rewrite a stream's configuration, and label metrics with whole subjects. Here they are fixed once.
It handles one message at a time (order), so it is for a low rate; commands and events run on the keyed worker.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated

import orjson
import structlog
from faststream import AckPolicy
from faststream.exceptions import NackMessage, RejectMessage
from faststream.message import StreamMessage
from faststream.nats import ConsumerConfig, JStream, NatsBroker, NatsCredentials, NatsMessage, NatsSecurity, PullSub
from faststream.nats.prometheus.provider import NatsMetricsSettingsProvider
from faststream.prometheus import ConsumeAttrs, PrometheusMiddleware
from faststream.specification import AsyncAPI
from nats.aio.msg import Msg
from nats.js import api
from prometheus_client import REGISTRY, CollectorRegistry
from pydantic import InstanceOf, WithJsonSchema

from muster_eventstore import (
    Codec,
    ConsumerSpec,
    Decoded,
    EventMeta,
    JetStreamStore,
    NatsAddress,
    PermanentError,
    StoredMessage,
    TransientError,
    park,
    reason_of,
    to_headers,
)
from muster_servicekit.asyncapi import Channel, with_messages

log = structlog.get_logger("muster.edge")

Handler = Callable[[Decoded], Awaitable[None]]
Received = Annotated[
    InstanceOf[Msg],
    WithJsonSchema({"type": "string", "format": "binary", "contentMediaType": "application/protobuf"}),
]
_DELAYS = (0.5, 2.0, 10.0, 30.0)  # seconds; a plain nack would come back at once
_PUBLISH_TIMEOUT = 5.0
_VERSION = "v1"  # of the packages muster.events.* and muster.commands.*


class _ByContext(NatsMetricsSettingsProvider):
    """Labels of metrics by the first two tokens of a subject; whole subjects would be a series for each aggregate."""

    def get_consume_attrs_from_message(self, msg: StreamMessage[Msg]) -> ConsumeAttrs:
        attrs = super().get_consume_attrs_from_message(msg)
        attrs["destination_name"] = ".".join(attrs["destination_name"].split(".")[:2])
        return attrs


class Edge:
    """A FastStream broker with the fixed settings; `start` connects, `stop` lets the handler at work finish."""

    def __init__(
        self,
        address: NatsAddress,
        service: str,
        *,
        now: Callable[[], datetime],
        registry: CollectorRegistry = REGISTRY,
        grace: float = 10.0,
    ) -> None:
        self.broker = NatsBroker(
            address.url,
            name=f"{service}-edge",
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            graceful_timeout=grace,
            logger=None,
            security=_security(address),
            middlewares=[
                PrometheusMiddleware(
                    settings_provider_factory=lambda _: _ByContext(), registry=registry, app_name=service
                )
            ],
        )
        self._service = service
        self._now = now
        self._specs: list[ConsumerSpec] = []
        self._channels: list[Channel] = []
        self._documents_only = False

    def subscribe(self, spec: ConsumerSpec, codec: Codec, handler: Handler, *, title: str, description: str) -> None:
        """Handle the messages of a durable consumer, one by one. A TransientError comes again after a growing delay;
        any other failure and what cannot be decoded is parked with its reason. One subject filter a consumer."""
        (subject,) = spec.subjects
        self._specs.append(spec)

        async def receive(raw: Received, message: NatsMessage) -> None:
            await self._receive(raw, message, spec, codec, handler)

        self.broker.subscriber(
            subject,
            durable=spec.durable,
            stream=JStream(spec.stream, declare=False),
            config=ConsumerConfig(ack_wait=spec.ack_wait, max_deliver=-1),
            pull_sub=PullSub(batch_size=1, timeout=1.0),
            ack_policy=AckPolicy.NACK_ON_ERROR,
            decoder=_undecoded,
            title=title,
            description=description,
        )(receive)

    def announce(self, channel: Channel) -> None:
        """Put what the service sends into the AsyncAPI document; it is sent through the event store."""
        self._channels.append(channel)
        self.broker.publisher(channel.address, title=channel.id, description=channel.description, schema=Received)

    def expect(self, channel: Channel) -> None:
        """Put what the service reads into the AsyncAPI document; a keyed worker or a projector reads it.

        An edge that expects something is for the document alone: it does not start.
        """
        self._channels.append(channel)
        self._documents_only = True

        async def read_elsewhere(raw: Received) -> None: ...

        self.broker.subscriber(channel.address, title=channel.id, description=channel.description)(read_elsewhere)

    async def publish(self, subject: str, payload: bytes, meta: EventMeta, *, stream: str) -> None:
        """Publish with an acknowledgement of the stream; without `stream` a message on an unbound subject is lost."""
        await self.broker.publish(payload, subject, headers=to_headers(meta), stream=stream, timeout=_PUBLISH_TIMEOUT)

    async def start(self) -> None:
        """Connect, bring the durables up to date, and begin."""
        if self._documents_only:
            raise RuntimeError(f"the edge of {self._service} was made for its document and reads nothing")
        client = await self.broker.connect()
        for spec in self._specs:
            await client.jetstream().add_consumer(
                spec.stream,
                api.ConsumerConfig(
                    durable_name=spec.durable,
                    filter_subject=spec.subjects[0],
                    ack_policy=api.AckPolicy.EXPLICIT,
                    ack_wait=spec.ack_wait,
                    max_ack_pending=spec.max_ack_pending,
                    max_deliver=-1,
                ),
            )
        await self.broker.start()

    async def stop(self) -> None:
        """Let the handler at work finish, then disconnect."""
        await self.broker.stop()

    def document(self, version: str, description: str) -> Mapping[str, object]:
        """The AsyncAPI 3.0 document of what was subscribed, expected and announced."""
        specification = AsyncAPI(self.broker, title=self._service, version=version, description=description)
        drawn: dict[str, object] = orjson.loads(specification.to_specification().to_json())
        return with_messages(drawn, self._channels)

    async def _receive(
        self, raw: Msg, message: NatsMessage, spec: ConsumerSpec, codec: Codec, handler: Handler
    ) -> None:
        decoded = codec.decode(raw.headers or {}, raw.data)
        attempt = raw.metadata.num_delivered
        try:
            if not isinstance(decoded, Decoded):
                raise PermanentError("UNDECODABLE", str(decoded))
            await handler(decoded)
        except TransientError as error:
            delay = _DELAYS[min(attempt, len(_DELAYS)) - 1]
            log.warning("message will be tried again", consumer=spec.durable, subject=raw.subject, error=str(error))
            raise NackMessage(delay=delay) from error
        except Exception as error:
            log.exception("message parked", consumer=spec.durable, subject=raw.subject)
            client = await self.broker.connect()
            meta = raw.metadata
            stored = StoredMessage(
                spec.stream, meta.sequence.stream, raw.subject, raw.data, raw.headers or {}, meta.timestamp
            )
            store = JetStreamStore(client)
            await park(store, spec.durable, stored, reason_of(error), attempts=attempt, now=self._now())
            raise RejectMessage from error


def describe_service(
    service: str, description: str, *, received: Iterable[Channel], sent: Iterable[Channel]
) -> Mapping[str, object]:
    """The AsyncAPI 3.0 document of a service whose messages are read by keyed workers and projectors."""
    address = NatsAddress("nats://127.0.0.1:4222")
    edge = Edge(address, service, now=_no_clock, registry=CollectorRegistry())
    for channel in received:
        edge.expect(channel)
    for channel in sent:
        edge.announce(channel)
    return edge.document(_VERSION, description)


def _no_clock() -> datetime:
    raise RuntimeError("a document needs no clock")


async def _undecoded(message: NatsMessage) -> Msg:
    # FastStream would guess JSON; a lambda that returns a coroutine would never be awaited.
    return message.raw_message


def _security(address: NatsAddress) -> NatsSecurity | None:
    if address.credentials is not None:
        return NatsCredentials(str(address.credentials), ssl_context=address.tls())
    context = address.tls()
    return None if context is None else NatsSecurity(ssl_context=context)
