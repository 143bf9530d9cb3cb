"""Own events -> commands to others. Recorded first, sent second; ids derive from the event's."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from muster_eventstore import Cause, Codec, Delivery, EventStore, TransientError, decode_or_refuse, send_all
from muster_gang_coordinator.domain import outgoing as domain
from muster_gang_coordinator.domain.details import reservation_taint
from muster_gang_coordinator.domain.events import GangReadied
from muster_gang_coordinator.domain.policy import SagaPolicy, TrialOrders
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.handlers.desk import gang_of
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.handlers.trust import TrustView
from muster_gang_coordinator.ports import NodeHolds
from muster_gang_coordinator.wire.commands import to_outgoing
from muster_gang_coordinator.wire.events import from_wire
from muster_types import ClusterId

SOURCE = "/muster/gang-coordinator"
OBSERVED = "observed"


class Reactions:
    """A reactor whose reactions need the gang: `level` waits until `gangs` shows a sequence of the stream."""

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        gangs: GangsView,
        intake: Intake,
        holds: NodeHolds,
        trust: TrustView,
        policy: SagaPolicy,
        now: Callable[[], datetime],
        level: Callable[[int], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._codec = codec
        self._gangs = gangs
        self._intake = intake
        self._holds = holds
        self._trust = trust
        self._policy = policy
        self._now = now
        self._level = level

    async def handle(self, delivery: Delivery) -> None:
        """Send what the events of a batch ask for. A repeat sends nothing new."""
        decoded = decode_or_refuse(self._codec, delivery)
        place = gang_of(delivery.message.subject)
        if place is None:
            return
        if not await self._level(delivery.message.sequence):
            raise TransientError(f"own events are not read up to {delivery.message.sequence}")
        cluster, gang_id = place
        entry = self._gangs.get(cluster, gang_id)
        if entry is None:
            return
        for index, message in enumerate(decoded.batch.events):
            event = from_wire(message)
            cause = Cause.of(decoded.meta).step("reaction", index)
            await self._send(cluster, react(self._policy, event, entry.gang.saga), cause)
            if isinstance(event, GangReadied):  # pods may have been bound before the gang was known
                await self._intake.bind_members(cluster, entry, cause)

    async def _send(self, cluster: ClusterId, wanted: list[domain.Outgoing], cause: Cause) -> None:
        # A gang that has ended meanwhile wants no plan: it has let go of its objects, and the ledger of the gang.
        wanted = [item for item in wanted if not isinstance(item, domain.BookGang) or item.spec.request_json]
        seen = 0
        if any(isinstance(item, domain.BookGang | domain.ConfirmGang) for item in wanted):
            # What made us ask is in the stream by now, so the matcher must look at least that far.
            seen = (await self._store.state(OBSERVED)).last_sequence
        wanted = [self._without_mistrusted(cluster, item) for item in wanted]
        sendable = [to_outgoing(item, cluster, seen) for item in wanted if not isinstance(item, domain.LiftHolds)]
        await send_all(self._store, sendable, cause, source=SOURCE, now=self._now())
        for item in wanted:
            if isinstance(item, domain.LiftHolds):
                await self._holds.lift(cluster, reservation_taint(item.gang_id), item.nodes)

    def _without_mistrusted(self, cluster: ClusterId, item: domain.Outgoing) -> domain.Outgoing:
        """A plan need not weigh groups that nothing would be ordered from; should one become so meanwhile, the saga
        refuses the plan."""
        if not isinstance(item, domain.BookGang) or self._policy.trial_orders is TrialOrders.OFF:
            return item
        wrong = {each.node_group for each in self._trust.trust_of(cluster).mistrusted}
        return replace(item, excluded_node_groups=tuple(sorted(wrong.union(item.excluded_node_groups))))
