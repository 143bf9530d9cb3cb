"""Wiring of the claim-matcher: the only place that chooses adapters."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nats.aio.client import Client

from muster.api.matcher.v1 import matcher_service_pb2_grpc as rpc
from muster.commands.claims.v1 import claims_pb2 as commands_pb2
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.observed.v1 import observed_pb2
from muster_claim_matcher.adapters.threads import Threads
from muster_claim_matcher.domain.ledger import LEDGER, LedgerEvent
from muster_claim_matcher.entrypoints.commands import SERVICE as ASKED_AS
from muster_claim_matcher.entrypoints.commands import Commands, LedgerPosition
from muster_claim_matcher.entrypoints.grpc import NAME, MatcherServicer
from muster_claim_matcher.entrypoints.observed import GangsModel, ObservedModel
from muster_claim_matcher.handlers.book import Booker
from muster_claim_matcher.handlers.cluster import Clusters
from muster_claim_matcher.handlers.confirm import Confirmer
from muster_claim_matcher.handlers.queries import Queries
from muster_claim_matcher.handlers.release import Releaser
from muster_claim_matcher.handlers.replay import replay as fold
from muster_claim_matcher.handlers.subjects import STREAM, ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.handlers.world import World
from muster_claim_matcher.settings import POLICIES, Settings
from muster_claim_matcher.wire.events import LedgerWire
from muster_eventstore import (
    Codec,
    CommandHandler,
    ConsumerSpec,
    Decoded,
    EventStore,
    FileSnapshots,
    JetStreamStore,
    PermanentError,
    Projector,
    SnapshotStore,
    StoredMessage,
    Worker,
    command_filter,
    connect,
    event_filter,
)
from muster_servicekit.address_file import AddressFile
from muster_servicekit.clock import Clock, SystemClock
from muster_servicekit.grpc import Listen, settings_tls, start_server
from muster_servicekit.grpc import Service as Served
from muster_servicekit.health import Health
from muster_servicekit.leadership import ALONE, Leadership, take_leases
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

SERVICE = "claim-matcher"
SOURCE = "/muster/claim-matcher"


@dataclass(frozen=True, slots=True)
class Built:
    """A service that is wired; it works while its runtime runs. `grpc_address` is host:port."""

    grpc_address: str
    health: Health


async def build(
    runtime: Runtime, settings: Settings, *, nats: Client | None = None, clock: Clock | None = None
) -> Built:
    """Connect (unless a connection is given), load the ledgers, listen, and register everything on `runtime`."""
    leadership, clock = ALONE, clock or SystemClock()
    if nats is None:
        nats = await connect(settings.nats, SERVICE)
        runtime.stack.push_async_callback(nats.close)
        leadership = await take_leases(runtime, settings, JetStreamStore(nats), clock, SERVICE)
    snapshots = _snapshots(runtime, settings)
    store = JetStreamStore(nats)
    return await assemble(runtime, settings, store, clock, snapshots=snapshots, leadership=leadership)


async def assemble(
    runtime: Runtime,
    settings: Settings,
    store: EventStore,
    clock: Clock,
    *,
    snapshots: SnapshotStore,
    listen: Listen = start_server,
    leadership: Leadership = ALONE,
) -> Built:
    """The service on any store and clock."""
    codec = codec_of_events()
    clusters = tuple(map(ClusterId, settings.clusters))
    ledgers = CommandHandler(
        store, codec, LEDGER, LedgerWire(), stream=STREAM, source=SOURCE, now=clock.now, fence=leadership.fence
    )
    subjects = [ledger_subject(cluster) for cluster in clusters]
    await ledgers.load(subjects)
    await leadership.begin(ledgers, lambda: ledgers.load(subjects), lambda _: True)
    world, wishes = World(), Wishes()
    observed = Projector(
        store,
        codec,
        ObservedModel(world, settings.clusters),
        name="claim-matcher-observed",
        stream="observed",
        now=clock.now,
    )
    gangs = Projector(
        store,
        codec,
        GangsModel(wishes),
        name="claim-matcher-gangs",
        stream="gangs",
        subjects=[event_filter("gangs", cluster) for cluster in clusters],
        now=clock.now,
        snapshots=snapshots,
        snapshot_every=settings.snapshot_every,
    )
    threads = Threads(settings.plan_threads)
    runtime.stack.push_async_callback(threads.close)

    async def newest_fact() -> int:
        return (await store.state("observed")).last_sequence

    seen = Clusters(world, observed, newest_fact, settings.facts_wait)
    policy = POLICIES[settings.plan_policy]
    recorded = LedgerPosition(lambda: ledgers.position)
    commands = Commands(
        codec,
        Booker(seen, ledgers, wishes, threads, clock.now, policy),
        Confirmer(seen, ledgers, wishes, threads),
        Releaser(seen, ledgers, wishes),
        settings.clusters,
        recorded,
    )
    spec = ConsumerSpec(
        "commands", SERVICE, tuple(command_filter(ASKED_AS, cluster) for cluster in clusters), ack_wait=30.0
    )
    worker = Worker(store, spec, commands.handle, now=clock.now, key=commands.key)

    async def take_commands() -> None:
        await observed.wait_ready()
        await gangs.wait_ready()
        for cluster in clusters:
            ledger = ledgers.state(ledger_subject(cluster))
            wishes.keep(cluster, lambda gang, ledger=ledger: not ledger.standing(gang).release_cause)
        await worker.run()

    servicer = MatcherServicer(
        queries=Queries(seen, ledgers, wishes, threads, policy),
        observations=observed,
        recorded=recorded,
        clusters=settings.clusters,
        query_wait=settings.query_wait,
    )
    server = await listen(
        settings.grpc_listen,
        [Served(NAME, lambda server: rpc.add_MatcherServiceServicer_to_server(servicer, server))],
        tls=settings_tls(settings),
    )
    address = AddressFile(settings.state_dir, SERVICE)

    async def readiness() -> None:
        """Serving from the moment at which everything that is stored is known."""
        await observed.wait_ready()
        await gangs.wait_ready()
        await address.write(server.address)
        await server.health.serving()
        await asyncio.Event().wait()

    runtime.supervise("observed", observed.run)
    runtime.supervise("gangs", gangs.run)
    runtime.supervise("commands", take_commands, stop=worker.stop)
    runtime.supervise("readiness", readiness)
    runtime.on_stop(lambda: server.stop(settings.stop_grace))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health)


def codec_of_events() -> Codec:
    """Every message type that the claim-matcher reads or writes."""
    return Codec.of_modules(claims_pb2, commands_pb2, observed_pb2, gangs_pb2)


def replay(messages: Iterable[StoredMessage], cluster: ClusterId) -> bytes:
    """The canonical state of a cluster's ledger after recorded messages, in stream order; those of other subjects are
    passed over, nothing is sent. Raises PermanentError for a message of the ledger that cannot be read."""
    return fold(_batches(messages, cluster), cluster)


def _batches(messages: Iterable[StoredMessage], cluster: ClusterId) -> Iterator[tuple[LedgerEvent, ...]]:
    codec, wire, subject = Codec.of_modules(claims_pb2), LedgerWire(), ledger_subject(cluster)
    for message in messages:
        if message.subject != subject:
            continue
        decoded = codec.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            raise PermanentError("UNDECODABLE", f"stream {message.stream!r}, sequence {message.sequence}: {decoded}")
        yield tuple(map(wire.from_wire, decoded.batch.events))


def _snapshots(runtime: Runtime, settings: Settings) -> SnapshotStore:
    if settings.redis_url is None:
        return FileSnapshots(settings.state_dir / "snapshots")
    from redis.asyncio import Redis

    from muster_eventstore.redis_snapshots import RedisSnapshots

    redis = Redis.from_url(settings.redis_url)
    runtime.stack.push_async_callback(redis.aclose)
    return RedisSnapshots(redis)
