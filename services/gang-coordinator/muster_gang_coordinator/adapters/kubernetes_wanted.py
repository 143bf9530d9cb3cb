"""What a gang holds in its cluster, by its recorded state alone: a fold, so that a restart wants the same."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster_gang_coordinator.adapters.kubernetes_finalizers import Served
from muster_gang_coordinator.adapters.kubernetes_rules import tolerates_rules
from muster_gang_coordinator.domain.plans import ExistingNode, Placement, existing_nodes
from muster_gang_coordinator.domain.states import Compensating, Consumed, Ended, Held, Ready
from muster_gang_coordinator.handlers.projections import GangEntry
from muster_gang_coordinator.settings import Hold
from muster_types import DeviceId, NodeName


@dataclass(frozen=True, slots=True)
class Holds:
    """Nodes that no autoscaler may take, devices that nobody else may get, requests that may not vanish unseen."""

    nodes: frozenset[NodeName] = frozenset()
    devices: frozenset[DeviceId] = frozenset()
    requests: frozenset[Served] = frozenset()

    def __sub__(self, other: "Holds") -> "Holds":
        return Holds(self.nodes - other.nodes, self.devices - other.devices, self.requests - other.requests)

    def __or__(self, other: "Holds") -> "Holds":
        return Holds(self.nodes | other.nodes, self.devices | other.devices, self.requests | other.requests)

    def __bool__(self) -> bool:
        return bool(self.nodes or self.devices or self.requests)


NOTHING = Holds()


def wanted_holds(entry: GangEntry, kinds: frozenset[Hold]) -> Holds:
    """Nothing in an end state; while capacity goes back only the request; else what is booked or has arrived."""
    gang = entry.gang
    if isinstance(gang, Consumed | Ended):
        return NOTHING
    spec = gang.saga.spec
    served = Hold.REQUESTS in kinds and not isinstance(gang, Held)  # a held gang's request may go
    requests = frozenset({Served(spec.key, spec.uid)}) if served else frozenset[Served]()
    if isinstance(gang, Compensating):
        return Holds(requests=requests)
    placements: tuple[Placement, ...] = ()
    if isinstance(gang, Ready):
        placements = gang.placements
    elif gang.saga.booked and gang.saga.plan is not None:
        placements = gang.saga.plan.placements
    arrived = frozenset(each.node for each in gang.saga.present)
    nodes = existing_nodes(placements) | arrived if Hold.SCALE_DOWN in kinds else frozenset[NodeName]()
    devices = frozenset[DeviceId]()
    if Hold.DEVICES in kinds and tolerates_rules(entry.gang_id, spec.objects_json):
        devices = frozenset(_devices(placements, arrived))
    return Holds(nodes, devices, requests)


def _devices(placements: Iterable[Placement], reserved: frozenset[NodeName]) -> Iterable[DeviceId]:
    """Devices that the gang has for itself, that no allocation keeps yet, nor the reservation taint of their node."""
    for placement in placements:
        target = placement.target
        if isinstance(target, ExistingNode) and target.name not in reserved:
            for result in (each for claim in placement.claims if not claim.existing for each in claim.results):
                if not (result.admin_access or result.shared):
                    yield result.device
