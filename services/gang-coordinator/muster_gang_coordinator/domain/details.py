"""What the offer tells the owner of the pods (provisioningClassDetails, group-capacity §1.3)."""

from muster_gang_coordinator.domain.pinning import pins_text
from muster_gang_coordinator.domain.plans import Pin, Placement, existing_nodes
from muster_types import GangId

GANG_LABEL = "muster.dev/gang"
# A value of provisioningClassDetails holds at most 32768 characters.
_VALUE_LIMIT = 32768


def reservation_taint(gang_id: GangId) -> str:
    """The taint that holds ordered nodes for their gang, as key=value:effect."""
    return f"{GANG_LABEL}={gang_id}:NoSchedule"


def offer_details(
    gang_id: GangId, placements: tuple[Placement, ...], domain: str, pins: tuple[Pin, ...] = ()
) -> tuple[tuple[str, str], ...]:
    """Sorted by key. The node list is cut at a comma when it would exceed the limit, and then ends in ",…".

    `muster.dev/pins` is there when kube-scheduler could spoil the plan: what has to be pinned, node by node.
    """
    details = {
        GANG_LABEL: str(gang_id),
        "muster.dev/nodes": _cut(sorted(existing_nodes(placements))),
        "muster.dev/reservation-taint": reservation_taint(gang_id),
    }
    if domain:
        details["TopologyDomain"] = domain
    if pins:
        details["muster.dev/pins"] = pins_text(pins, placements, _VALUE_LIMIT)
    return tuple(sorted(details.items()))


def _cut(nodes: list[str]) -> str:
    text = ",".join(nodes)
    if len(text) <= _VALUE_LIMIT:
        return text
    return text[: _VALUE_LIMIT - 2].rpartition(",")[0] + ",…"
