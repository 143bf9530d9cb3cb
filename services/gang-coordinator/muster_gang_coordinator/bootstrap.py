"""Wiring of the gang-coordinator: the only place that chooses adapters."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from nats.aio.client import Client

from muster.api.capacity.v1 import capacity_service_pb2_grpc as rpc
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands_pb2
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import (
    Codec,
    CommandHandler,
    ConsumerSpec,
    Decoded,
    EventStore,
    JetStreamStore,
    PermanentError,
    Projector,
    ReadModel,
    StoredMessage,
    TransientError,
    Worker,
    command_filter,
    connect,
    derived_id,
    event_filter,
    fired_filter,
)
from muster_gang_coordinator.adapters.kubernetes_events import NO_EVENTS
from muster_gang_coordinator.adapters.kubernetes_holds import HoldKeeper
from muster_gang_coordinator.adapters.matcher_client import MatcherClient
from muster_gang_coordinator.adapters.opened import open_clusters
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.states import Consumed, Ended
from muster_gang_coordinator.entrypoints.consumers import CommandsConsumer, FactsConsumer
from muster_gang_coordinator.entrypoints.feeds import GangsModel, InventoryModel, LedgerModel, ObservedModel
from muster_gang_coordinator.entrypoints.grpc import NAME, CapacityServicer
from muster_gang_coordinator.entrypoints.reactions import SOURCE, Reactions
from muster_gang_coordinator.entrypoints.settling import Settling
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.desk import KIND, STREAM, Desk, gang_of
from muster_gang_coordinator.handlers.group_intake import GroupIntake
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.onlooker import Onlooker
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.handlers.replay import GangBatch
from muster_gang_coordinator.handlers.replay import replay as fold
from muster_gang_coordinator.handlers.retries import RetryRounds
from muster_gang_coordinator.handlers.status_writer import StatusWriter
from muster_gang_coordinator.handlers.trust import TrustView
from muster_gang_coordinator.handlers.turns import Turns
from muster_gang_coordinator.ports import ClusterWrites, GroupPods, Notices
from muster_gang_coordinator.settings import Settings
from muster_gang_coordinator.wire.events import GangWire, from_wire
from muster_gang_coordinator.wire.facts import from_claims, from_inventory, from_provisioning
from muster_gang_coordinator.wire.groups import JsonGroups
from muster_gang_coordinator.wire.requests import JsonSpecs
from muster_gang_coordinator.wire.templates import JsonTemplates
from muster_servicekit.address_file import AddressFile
from muster_servicekit.clock import Clock, SystemClock
from muster_servicekit.grpc import Listen, settings_tls, start_server
from muster_servicekit.grpc import Service as Served
from muster_servicekit.grpc_client import settings_client_tls
from muster_servicekit.health import Health
from muster_servicekit.leadership import ALONE, Leadership, take_leases
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

SERVICE = "gang-coordinator"
_MATCHER = "claim-matcher"
_LEVEL_WAIT = 30.0
_RENEWAL = 3600.0  # seconds between two looks at requests that wait long


@dataclass(frozen=True, slots=True)
class Built:
    """A service that is wired; it works while its runtime runs. `grpc_address` is host:port."""

    grpc_address: str
    health: Health
    statuses: StatusWriter


class Service:
    """A coordinator in this process: `await start()`, and `await stop()` once."""

    def __init__(self, runtime: Runtime, built: Built) -> None:
        self._runtime = runtime
        self._built = built
        self._task: asyncio.Task[None] | None = None

    @property
    def grpc_address(self) -> str:
        """host:port."""
        return self._built.grpc_address

    @property
    def health(self) -> Health:
        """Serving once started."""
        return self._built.health

    async def start(self) -> None:
        """Run in the background; returns when requests are served."""
        ready = asyncio.Event()

        async def on_ready() -> None:
            ready.set()

        self._runtime.on_ready(on_ready)
        self._task = asyncio.create_task(self._runtime.run())
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Finish what is at work. Raises RuntimeError when a part had failed."""
        self._runtime.request_stop()
        if self._task is not None:
            await self._task
        if self._runtime.failure is not None:
            raise RuntimeError(f"{SERVICE} ended: {self._runtime.failure}")


async def build(settings: Settings, *, nats: Client | None = None, clock: Clock | None = None) -> Service:
    """A coordinator of its own runtime; see `build_on`."""
    runtime = Runtime(SERVICE, grace=settings.stop_grace)
    try:
        return Service(runtime, await build_on(runtime, settings, nats=nats, clock=clock))
    except BaseException:
        await runtime.stack.aclose()
        raise


async def build_on(
    runtime: Runtime, settings: Settings, *, nats: Client | None = None, clock: Clock | None = None
) -> Built:
    """Connect (unless a connection is given), load what was decided, listen, and register everything on `runtime`."""
    leadership, clock = ALONE, clock or SystemClock()
    if nats is None:
        nats = await connect(settings.nats, SERVICE)
        runtime.stack.push_async_callback(nats.close)
        leadership = await take_leases(runtime, settings, JetStreamStore(nats), clock, SERVICE)
    opened = open_clusters(runtime, settings, clock, f"muster-{SERVICE}")
    return await assemble(
        runtime,
        settings,
        JetStreamStore(nats),
        clock,
        writes=opened.writes,
        holds=opened.holds,
        notices=opened.notices,
        pods=opened.pods,
        leadership=leadership,
    )


async def assemble(
    runtime: Runtime,
    settings: Settings,
    store: EventStore,
    clock: Clock,
    *,
    writes: ClusterWrites,
    holds: HoldKeeper | None = None,
    notices: Notices = NO_EVENTS,
    pods: GroupPods | None = None,
    listen: Listen = start_server,
    leadership: Leadership = ALONE,
) -> Built:
    """The service on any store, clock and clusters."""
    codec = codec_of_events()
    policy, clusters = settings.policy, settings.clusters
    desk = await _desk(store, codec, settings, clock, leadership)
    gangs, view, trust = GangsView(), ClusterView(), TrustView()
    turns = Turns(desk, gangs, policy, clock.now)
    rounds = RetryRounds(desk, turns, clusters, clock, settle_seconds=settings.retry_settle)
    statuses = StatusWriter(gangs, view, writes, writes)
    followers = (rounds.saw, statuses.saw, *([] if holds is None else [holds.saw]))
    own = _projector(store, codec, GangsModel(gangs, followers), STREAM, clock, clusters)
    observed = _projector(store, codec, ObservedModel(view, rounds, clusters), "observed", clock)
    inventory = _projector(store, codec, InventoryModel(trust, rounds, clusters), "inventory", clock)
    ledger = _projector(store, codec, LedgerModel(rounds, clusters), "claims", clock)

    async def level() -> None:
        if not await own.wait_for(desk.position, _LEVEL_WAIT):
            raise TransientError(f"own events are not read up to {desk.position}")

    async def caught_up() -> None:
        for projector in (own, observed, inventory):
            await projector.wait_ready()

    specs, templates, classes = JsonSpecs(settings.booking), JsonTemplates(), settings.provisioning_classes
    intake = Intake(desk, gangs, view, turns, specs, templates, classes, clock.now, level)
    reactions = Reactions(
        store, codec, gangs, intake, writes, trust, policy, clock.now, lambda n: own.wait_for(n, _LEVEL_WAIT)
    )
    commands = CommandsConsumer(codec, desk, view, turns, clock.now)
    grace = timedelta(seconds=settings.template_wait)
    onlooker = Onlooker(gangs, view, templates, notices, classes, clock.now, grace)
    gather, asking = timedelta(seconds=settings.retry_settle), JsonGroups(classes)
    groups = None if pods is None else GroupIntake(desk, gangs, view, intake, asking, pods, clock, gather)
    settling = Settling(view, intake, onlooker, groups, clusters, caught_up)
    matcher = MatcherClient(_matcher_address(settings), settings_client_tls(settings))
    runtime.stack.push_async_callback(matcher.close)

    for name, projector in (("own", own), ("observed", observed), ("inventory", inventory), ("ledger", ledger)):
        runtime.supervise(f"read-{name}", projector.run)
    runtime.supervise("settling", settling.run)
    for name, task in _tasks(settings, holds, statuses, rounds, gangs, clock):
        runtime.supervise(name, _then(caught_up, task))
    facts = {"claims": from_claims, "provisioning": from_provisioning, "inventory": from_inventory}
    for cluster in map(ClusterId, clusters):
        consumers = [
            (name, name, event_filter(name, cluster), FactsConsumer(codec, read, desk, gangs, trust, clock.now, level))
            for name, read in facts.items()
        ]
        for name, stream, subjects, facts_consumer in consumers:
            spec = ConsumerSpec(stream, _durable(name, cluster), (subjects,))
            worker = Worker(store, spec, facts_consumer.handle, now=clock.now, key=facts_consumer.key)
            _supervise(runtime, worker, caught_up)
        for name, stream, subjects, handle in (
            ("commands", "commands", command_filter(STREAM, cluster), commands.handle),
            ("timers", "timers", fired_filter(STREAM, cluster), commands.handle),
            ("reactions", STREAM, event_filter(STREAM, cluster, KIND), reactions.handle),
        ):
            spec = ConsumerSpec(stream, _durable(name, cluster), (subjects,))
            _supervise(runtime, Worker(store, spec, handle, now=clock.now), caught_up)
    servicer = CapacityServicer(store, codec, desk, intake, gangs, own, matcher, clusters, clock, settings.query_wait)
    server = await listen(
        settings.grpc_listen,
        [Served(NAME, lambda server: rpc.add_CapacityServiceServicer_to_server(servicer, server))],
        tls=settings_tls(settings),
    )
    address = AddressFile(settings.state_dir, SERVICE)
    runtime.on_ready(caught_up)
    runtime.on_ready(lambda: address.write(server.address))
    runtime.on_ready(server.health.serving)
    runtime.on_stop(lambda: server.stop(settings.stop_grace))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health, statuses)


async def _desk(store: EventStore, codec: Codec, settings: Settings, clock: Clock, leadership: Leadership) -> Desk:
    """With every gang that is recorded; what a former writer may still try on an open one is fenced."""
    handler = CommandHandler(
        store,
        codec,
        gang_decider(settings.policy),
        GangWire(),
        stream=STREAM,
        source=SOURCE,
        now=clock.now,
        fence=leadership.fence,
    )
    desk = Desk(handler)
    await desk.load(settings.clusters)
    await leadership.begin(
        handler, lambda: desk.load(settings.clusters), lambda gang: not isinstance(gang, Consumed | Ended)
    )
    return desk


def codec_of_events() -> Codec:
    """Every message type that the gang-coordinator reads or writes."""
    return Codec.of_modules(gangs_pb2, gang_commands_pb2, claims_pb2, provisioning_pb2, inventory_pb2, observed_pb2)


def replay(messages: Iterable[StoredMessage], cluster: ClusterId) -> bytes:
    """The canonical state of the gangs after recorded messages, in stream order; those of other streams are passed
    over, nothing is sent. Raises PermanentError for a message of the stream `gangs` that cannot be read."""
    return fold(_batches(messages), cluster)


def _batches(messages: Iterable[StoredMessage]) -> Iterator[GangBatch]:
    codec = Codec.of_modules(gangs_pb2)
    for message in messages:
        place = gang_of(message.subject)
        if place is None:
            continue
        decoded = codec.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            raise PermanentError("UNDECODABLE", f"stream {message.stream!r}, sequence {message.sequence}: {decoded}")
        yield GangBatch(*place, tuple(map(from_wire, decoded.batch.events)), decoded.meta.time)


def _projector(
    store: EventStore, codec: Codec, model: ReadModel, stream: str, clock: Clock, clusters: tuple[str, ...] = ()
) -> Projector:
    """Over a whole stream, or over the gangs of `clusters`."""
    subjects = [event_filter(stream, cluster, KIND) for cluster in clusters]
    return Projector(store, codec, model, name=f"{SERVICE}-{stream}", stream=stream, subjects=subjects, now=clock.now)


def _supervise(runtime: Runtime, worker: Worker, caught_up: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await caught_up()
        await worker.run()

    runtime.supervise(worker.durable, run, stop=worker.stop)


def _durable(purpose: str, cluster: ClusterId) -> str:
    """Name of a durable consumer; a cluster id that no consumer name may hold is hashed."""
    plain = cluster if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cluster) else derived_id(cluster)
    return f"{SERVICE}-{purpose}-{plain}"


Task = Callable[[], Coroutine[None, None, None]]


def _then(first: Callable[[], Awaitable[None]], task: Task) -> Task:
    async def run() -> None:
        await first()
        await task()

    return run


def _tasks(
    settings: Settings,
    holds: HoldKeeper | None,
    statuses: StatusWriter,
    rounds: RetryRounds,
    gangs: GangsView,
    clock: Clock,
) -> list[tuple[str, Task]]:
    """What begins once everything that is stored was read; the last two where clusters are live."""

    async def write() -> None:
        statuses.start(settings.clusters)
        await statuses.run()

    async def keep(holds: HoldKeeper) -> None:
        await holds.start(gangs)
        await holds.run()

    async def renew() -> None:
        while True:
            statuses.renew(settings.clusters, clock.now(), timedelta(seconds=settings.renew_after))
            await clock.sleep(_RENEWAL)

    tasks: list[tuple[str, Task]] = [("statuses", write), ("retries", rounds.run)]
    if holds is not None:
        tasks.append(("holds", lambda: keep(holds)))
    if settings.live_writes and settings.renew_after:
        tasks.append(("renewal", renew))
    return tasks


def _matcher_address(settings: Settings) -> Callable[[], str]:
    written = AddressFile(settings.state_dir, _MATCHER)
    return lambda: settings.claim_matcher_address or written.read() or "127.0.0.1:7402"
