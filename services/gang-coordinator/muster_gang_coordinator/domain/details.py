"""What the offer tells the owner of the pods (provisioningClassDetails, group-capacity §1.3)."""

import re

from muster_gang_coordinator.domain.pinning import pins_text
from muster_gang_coordinator.domain.plans import Pin, Placement, existing_nodes
from muster_types import GangId

GANG_LABEL = "muster.dev/gang"
_NODES, _TAINT, _PINS = "muster.dev/nodes", "muster.dev/reservation-taint", "muster.dev/pins"
_DOMAIN = "TopologyDomain"
_LABEL_VALUE = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
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
        _NODES: _cut(sorted(existing_nodes(placements))),
        _TAINT: reservation_taint(gang_id),
    }
    details |= _domains(domain)
    if pins:
        details[_PINS] = pins_text(pins, placements, _VALUE_LIMIT)
    return tuple(sorted(details.items()))


def is_detail(key: str) -> bool:
    """Whether an offer may have a detail of that key."""
    return key in (GANG_LABEL, _NODES, _TAINT, _PINS, _DOMAIN) or key.removeprefix(f"{_DOMAIN}/") not in ("", key)


def _domains(text: str) -> dict[str, str]:
    """The chosen value of each node label, fit for a node selector (N-2.7): `TopologyDomain/<label>`, and with only one
    label `TopologyDomain` too. Values that differ between pod sets, or that only boot will tell, are left out."""
    chosen: dict[str, set[str]] = {}
    for each in filter(None, text.split(", ")):
        key, _, value = each.rpartition("=")
        chosen.setdefault(key, set()).add(value)
    sure = {key: min(values) for key, values in chosen.items() if len(values) == 1}
    fit = {key: value for key, value in sorted(sure.items()) if _LABEL_VALUE.fullmatch(value)}
    named = {f"{_DOMAIN}/{key}": value for key, value in fit.items() if key}
    return {**named, _DOMAIN: next(iter(fit.values()))} if len(chosen) == len(fit) == 1 else named


def _cut(nodes: list[str]) -> str:
    text = ",".join(nodes)
    if len(text) <= _VALUE_LIMIT:
        return text
    return text[: _VALUE_LIMIT - 2].rpartition(",")[0] + ",…"
