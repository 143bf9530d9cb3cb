"""How the pods of a plan must be pinned so that kube-scheduler cannot spoil it, on the nodes that carry them."""

from collections.abc import Iterable
from dataclasses import replace

from muster_gang_coordinator.domain.plans import ExistingNode, NewNode, Pin, PinKind, Placement, Target
from muster_types import PodSetName

_HOW = {
    PinKind.NODE: "",
    PinKind.ORDER: " in this order",
    PinKind.DEVICES: " with exactly these devices",
}


def settle_pins(pins: tuple[Pin, ...], placements: tuple[Placement, ...]) -> tuple[Pin, ...]:
    """The pins of a plan on the nodes where its pods are now; a pin of a pod without a place is left out."""
    where = {(p.pod_set, p.index): p.target for p in placements}
    return tuple(replace(pin, target=where[pin.pod_set, pin.index]) for pin in pins if _pod(pin) in where)


def pins_text(pins: tuple[Pin, ...], placements: tuple[Placement, ...], limit: int) -> str:
    """The settled pins node by node, for people: `n1: workers 0-3; n2 with exactly these devices: leader 0 (...)`.

    At most `limit` characters; what does not fit is cut at a node, and the text then ends in "; …".
    """
    seated = {(p.pod_set, p.index): p for p in placements}
    of_node: dict[tuple[Target, PinKind], list[Pin]] = {}
    for pin in settle_pins(pins, placements):
        of_node.setdefault((pin.target, pin.kind), []).append(pin)
    told: list[str] = []
    for (target, kind), pins_there in of_node.items():
        of_one = pins_there if kind is PinKind.NODE else sorted(pins_there, key=lambda pin: pin.position)
        members = (
            _ranges(map(_pod, of_one))
            if kind is PinKind.NODE
            else ", ".join(f"{pin.pod_set} {pin.index}{_devices(seated[_pod(pin)])}" for pin in of_one)
        )
        told.append(f"{_name(target)}{_HOW[kind]}: {members}")
    text = "; ".join(told)
    if len(text) <= limit:
        return text
    whole = text[: limit - len("; …")].rpartition("; ")[0]
    return f"{whole}; …" if whole else "…"


def _pod(pin: Pin) -> tuple[PodSetName, int]:
    return pin.pod_set, pin.index


def _name(target: Target) -> str:
    match target:
        case ExistingNode(name):
            return name
        case NewNode(node_group, ordinal):
            return f"{node_group}#{ordinal}"


def _devices(placement: Placement) -> str:
    devices = [str(result.device) for claim in placement.claims for result in claim.results if not claim.existing]
    return f" ({' '.join(devices)})" if devices else ""


def _ranges(pods: Iterable[tuple[PodSetName, int]]) -> str:
    """Neighbours of one pod set as `workers 0-3`."""
    runs: list[tuple[PodSetName, int, int]] = []
    for pod_set, index in pods:
        if runs and runs[-1][0] == pod_set and runs[-1][2] == index - 1:
            runs[-1] = (pod_set, runs[-1][1], index)
        else:
            runs.append((pod_set, index, index))
    return ", ".join(f"{name} {first}" if first == last else f"{name} {first}-{last}" for name, first, last in runs)
