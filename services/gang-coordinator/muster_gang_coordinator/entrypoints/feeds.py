"""Streams into read models: own events, the cluster, trust in templates, and what could help a waiting gang."""

from collections.abc import Callable, Iterable

import structlog

from muster.events.claims.v1 import claims_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster_eventstore import Cause, Decoded, InvalidSubject, StoredMessage, parse_event
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.desk import gang_of
from muster_gang_coordinator.handlers.projections import GangsView, Step
from muster_gang_coordinator.handlers.retries import RetryRounds
from muster_gang_coordinator.handlers.trust import TrustView
from muster_gang_coordinator.wire.declared_groups import from_group
from muster_gang_coordinator.wire.events import from_wire
from muster_gang_coordinator.wire.observed import from_observed
from muster_types import ClusterId, NodeGroupName, NodeName

log = structlog.get_logger("muster.feeds")


class GangsModel:
    """Own events into the view; each step is shown to the watchers."""

    def __init__(self, gangs: GangsView, watchers: Iterable[Callable[[Step], None]]) -> None:
        self._gangs = gangs
        self._watchers = tuple(watchers)

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        place = gang_of(message.subject)
        if place is None:
            return
        events = [from_wire(event) for event in decoded.batch.events]
        for step in self._gangs.apply(*place, events, decoded.meta.time):
            for watch in self._watchers:
                watch(step)


class ObservedModel:
    """Facts about the clusters that this process serves."""

    def __init__(self, view: ClusterView, rounds: RetryRounds, clusters: tuple[str, ...]) -> None:
        self._view = view
        self._rounds = rounds
        self._clusters = frozenset(clusters)

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        cluster = _cluster(message, self._clusters)
        if cluster is None:
            return
        facts = [fact for event in decoded.batch.events if (fact := from_observed(event, cluster)) is not None]
        if self._view.apply(cluster, facts, Cause.of(decoded.meta)):
            self._rounds.changed(cluster, f"{facts[-1].key} is gone")


class InventoryModel:
    """Trust in templates, and new capacity."""

    def __init__(self, trust: TrustView, rounds: RetryRounds, clusters: tuple[str, ...]) -> None:
        self._trust = trust
        self._rounds = rounds
        self._clusters = frozenset(clusters)

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        cluster = _cluster(message, self._clusters)
        if cluster is None:
            return
        for event in decoded.batch.events:
            match event:
                case inventory_pb2.TemplateTrusted() as m:
                    self._trust.trust(cluster, NodeGroupName(m.node_group))
                    self._rounds.changed(cluster, f"the template of node group {m.node_group} is trusted")
                case inventory_pb2.TemplateMistrusted() as m:
                    evidence = "; ".join(f"{each.check} {each.sentence}" for each in m.mismatches)
                    self._trust.mistrust(cluster, NodeGroupName(m.node_group), NodeName(m.node), evidence)
                case inventory_pb2.NodeReadied() as m:
                    self._rounds.changed(cluster, f"node {m.node} is ready")
                case inventory_pb2.NodeGroupDeclared() as m:
                    self._trust.declare(cluster, NodeGroupName(m.name), *from_group(m.json))
                    self._rounds.changed(cluster, f"node group {m.name} was declared")
                case inventory_pb2.PoolChanged() as m if m.state == inventory_pb2.POOL_STATE_COMPLETE:
                    self._rounds.changed(cluster, f"pool {m.driver}/{m.pool} is complete")
                case _:
                    pass


class LedgerModel:
    """What the ledger lets go may help others."""

    def __init__(self, rounds: RetryRounds, clusters: tuple[str, ...]) -> None:
        self._rounds = rounds
        self._clusters = frozenset(clusters)

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        cluster = _cluster(message, self._clusters)
        if cluster is None:
            return
        for event in decoded.batch.events:
            if isinstance(event, claims_pb2.GangReleased):
                self._rounds.changed(cluster, f"gang {event.gang_id} was released")


def _cluster(message: StoredMessage, clusters: frozenset[str]) -> ClusterId | None:
    parsed = parse_event(message.subject)
    if isinstance(parsed, InvalidSubject) or parsed.cluster not in clusters:
        return None
    return ClusterId(parsed.cluster)
