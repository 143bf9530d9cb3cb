"""FastStream with the fixed settings, on a real server."""

from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from muster.commands.claims.v1 import claims_pb2
from muster.events.claims.v1.claims_pb2 import GangBooked
from muster_eventstore import (
    Cause,
    Codec,
    CommandSubject,
    ConsumerSpec,
    Decoded,
    JetStreamStore,
    NatsAddress,
    SendCommand,
    TransientError,
    command_filter,
    command_subject,
    list_parked,
    publish_command,
)
from muster_eventstore.testing import a_meta
from muster_servicekit.asyncapi import Carrier, Channel
from muster_servicekit.faststream_edge import Edge
from support.nats_server import now, wait_until

CODEC = Codec.of_modules(claims_pb2)
SPEC = ConsumerSpec("commands", "claims-edge", (command_filter("claims"),))


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def edge(streams_url: str, registry: CollectorRegistry) -> AsyncIterator[Edge]:
    opened = Edge(NatsAddress(streams_url), "claim-matcher", now=now, registry=registry)
    yield opened
    await opened.stop()


async def release(store: JetStreamStore, gang: str) -> None:
    command = SendCommand(CommandSubject("claims", "c1", "ReleaseGang", gang), claims_pb2.ReleaseGang(gang_id=gang))
    await publish_command(store, command, Cause.first(gang), source="/test", now=now())


async def test_a_transient_failure_comes_again_and_a_broken_message_is_parked(
    edge: Edge, store: JetStreamStore, registry: CollectorRegistry
) -> None:
    seen: list[str] = []

    async def handler(decoded: Decoded) -> None:
        (message,) = decoded.batch.events
        assert isinstance(message, claims_pb2.ReleaseGang)
        seen.append(message.gang_id)
        if seen == ["a"]:
            raise TransientError("the ledger is away")
        if message.gang_id == "c":
            raise KeyError("a bug")

    edge.subscribe(SPEC, CODEC, handler, title="commands", description="Commands to the ledger.")
    await edge.start()
    await release(store, "a")
    await release(store, "c")
    await store.publish(command_subject("claims", "c1", "ReleaseGang", "x"), b"\xff\xff", a_meta("garbage"))

    async def empty() -> bool:
        return (await store.state("commands")).messages == 0

    await wait_until(empty, "the work queue is empty")
    assert sorted(seen) == ["a", "a", "c"]
    reasons = sorted(parked.reason for parked in await list_parked(store, "claims-edge"))
    assert reasons == ["KeyError: 'a bug'", "UNDECODABLE: type 't' is not known here; a newer version wrote it"]
    figures = generate_latest(registry).decode()
    assert 'handler="muster.commands"' in figures
    assert "muster.commands.claims" not in figures


async def test_the_asyncapi_document_names_what_is_read_and_what_is_written(edge: Edge) -> None:
    async def handler(decoded: Decoded) -> None: ...

    edge.subscribe(SPEC, CODEC, handler, title="commands", description="Commands to the ledger.")
    edge.announce(Channel("ledger", "muster.claims.*.ledger", (GangBooked,), "Events of the ledger.", Carrier.BATCH))
    document = edge.document("1.0.0", "The ledger.")
    assert document["asyncapi"] == "3.0.0"
    text = str(document)
    assert "muster.commands.claims.>" in text
    assert "muster.claims.*.ledger" in text
    assert "muster.events.claims.v1.GangBooked" in text


async def test_an_edge_that_is_made_for_its_document_does_not_start(edge: Edge) -> None:
    edge.expect(Channel("commands", command_filter("claims"), (claims_pb2.ReleaseGang,), "Commands to the ledger."))
    with pytest.raises(RuntimeError, match="was made for its document"):
        await edge.start()
