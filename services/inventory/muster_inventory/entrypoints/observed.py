"""The stream `observed` comes in here: facts into the world, then decisions about what changed."""

import asyncio

import structlog

from muster_eventstore import Decoded, InvalidSubject, Projector, StoredMessage, TransientError, parse_event
from muster_inventory.domain.seen import Origin
from muster_inventory.handlers.settle import Settler, start_origin
from muster_inventory.handlers.world import World
from muster_inventory.wire.observed import from_observed, to_origin
from muster_types import ClusterId

log = structlog.get_logger("muster.inventory")
_PAUSE = 0.5  # seconds before what could not be recorded is tried again
_LOOK = 60.0  # seconds of one wait for news


class ObservedModel:
    """The world as a read model of the stream."""

    def __init__(self, world: World, clusters: tuple[str, ...]) -> None:
        self._world = world
        self._clusters = frozenset(clusters)
        self.newest: dict[ClusterId, Origin] = {}

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one message in; one of another cluster, or on a subject that no writer of ours uses, says nothing."""
        subject = parse_event(message.subject)
        if isinstance(subject, InvalidSubject) or subject.cluster not in self._clusters:
            return
        cluster, origin = ClusterId(subject.cluster), to_origin(decoded.meta)
        facts = [fact for event in decoded.batch.events if (fact := from_observed(event, subject.ids)) is not None]
        self._world.apply(cluster, facts, origin)
        self.newest[cluster] = origin


class Settling:
    """Decides whenever there is news. `position` is the sequence of `observed` up to which everything was decided."""

    def __init__(self, model: ObservedModel, world: World, settler: Settler, projector: Projector) -> None:
        self._model = model
        self._world = world
        self._settler = settler
        self._projector = projector
        self._reconciled: set[ClusterId] = set()
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._ready = asyncio.Event()
        self.position = 0

    async def wait_ready(self) -> None:
        """Until everything that was stored at the start has been decided."""
        await self._ready.wait()

    async def run(self) -> None:
        """Follow the projector until cancelled. What is recorded already decides nothing again."""
        await self._projector.wait_ready()
        while True:
            covered = self._projector.position
            try:
                await self._reconcile()
                await self._settler.settle()
            except TransientError as error:
                log.warning("decisions will be made again", error=str(error))
                await asyncio.sleep(_PAUSE)
                continue
            self._cover(covered)
            await self._wait_news(covered)

    async def wait_for(self, sequence: int, deadline: float) -> bool:
        """Until everything up to a sequence of `observed` was decided; False after `deadline` seconds."""
        if self.position >= sequence:
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (sequence, waiter)
        self._waiters.append(entry)
        try:
            async with asyncio.timeout(deadline):
                await waiter
        except TimeoutError:
            return False
        finally:
            if entry in self._waiters:
                self._waiters.remove(entry)
        return True

    async def _wait_news(self, covered: int) -> None:
        while not await self._projector.wait_for(covered + 1, _LOOK):
            pass

    async def _reconcile(self) -> None:
        """Once for each cluster, as soon as its list is whole: facts may have been missed while nobody looked."""
        for cluster, newest in sorted(self._model.newest.items()):
            if cluster not in self._reconciled and self._world.cluster(cluster).listed:
                await self._settler.reconcile(cluster, start_origin(cluster, self._projector.position, newest))
                self._reconciled.add(cluster)

    def _cover(self, sequence: int) -> None:
        self.position = sequence
        self._ready.set()
        for wanted, waiter in self._waiters:
            if wanted <= sequence and not waiter.done():
                waiter.set_result(None)
