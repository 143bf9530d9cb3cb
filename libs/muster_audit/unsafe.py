"""Where the API data allows what the hardware, or the intent, speaks against."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_audit.scene import Scene
from muster_audit.seating import Seat
from muster_audit.survey import Wanted
from muster_audit.uniform import mixed_class
from muster_audit.wording import counted, holders_text, listed
from muster_dra import AllocatedState, DeviceResult
from muster_types import DeviceId


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a placement that the API counts as possible should not be made, and what to do instead."""

    why: str
    remedy: str


def hardware_doubt(results: Sequence[DeviceResult], state: AllocatedState, scene: Scene) -> Doubt:
    """For devices that fit only while the hardware is not looked at; `state` is the careful one."""
    devices = [result.device for result in results]
    for overlap in scene.physical.overlaps:
        if overlap.parent in devices:
            partitions = listed([each.device for each in overlap.partitions])
            count = counted(len(overlap.partitions), "partition")
            return Doubt(
                f"{overlap.parent.device} is the parent ({overlap.by}) of {count} ({partitions}) that no counter ties "
                "to it; the API data alone would allow it",
                "publish shared counters for the device and its partitions, or only one of the two views",
            )
    for device in devices:
        for other in scene.physical.related.get(device, ()):
            if state.holders(other):
                return Doubt(
                    f"{device.device} and {other.device} {_relation(device, other, scene)}; "
                    f"{other.device} is {_held(other, state, scene)}",
                    "publish the hardware in one pool only, or tie both to one counter",
                )
    for node in scene.physical.sold_twice:
        if any(device in node.devices for device in devices):
            pods = listed(node.pods)
            return Doubt(
                f"{node.free} of {len(node.devices)} devices on {node.node} are free, but which ones is unknown: "
                f"{node.integers} are handed out as {node.resource} to {pods}",
                f"offer the accelerators of {node.node} in one way only: "
                f"move {pods} to claims or the claims to {node.resource}",
            )
    return Doubt("the hardware behind the devices is in use under another name", "publish it once")


def _relation(device: DeviceId, other: DeviceId, scene: Scene) -> str:
    for twins in scene.physical.twins:
        if device in twins.devices and other in twins.devices:
            return f"share uuid {twins.identity}"
    return "are one piece of hardware and its partition, with no counter between them"


def _held(device: DeviceId, state: AllocatedState, scene: Scene) -> str:
    holders = state.holders(device)
    pending = [each.removesuffix(" (pending)") for each in holders if each.endswith("(pending)")]
    if pending:
        return "what another pending pod would get"
    return f"held by {holders_text(holders, scene.cluster)}"


def doubt(pod: Wanted, seat: Seat, scene: Scene) -> Doubt | None:
    """What speaks against a seat although its devices are free: other intent, or amounts that nobody knows."""
    return _unlike(pod, seat, scene) or _unknown_draw(seat, scene) or _integers(pod, seat, scene)


def _unlike(pod: Wanted, seat: Seat, scene: Scene) -> Doubt | None:
    """An integer of an extended resource that may become a device of another kind."""
    for resource, name in sorted(pod.kind.extended.items()):
        if not any(result.request.startswith("container-") for result in seat.results):
            continue
        mixed = mixed_class(name, scene)
        if mixed is not None:
            return Doubt(
                f"{resource} is served by class {name}, whose devices are not equivalent ({mixed.sentence()}): "
                f"the pod could be met by {mixed.least_text()}",
                f"narrow class {name} to one kind of device, or ask through a claim",
            )
    return None


def _unknown_draw(seat: Seat, scene: Scene) -> Doubt | None:
    """Counters of a pool in which a claim holds a device that nobody publishes any more."""
    for result in seat.results:
        device = scene.published.devices.get(result.device)
        if device is None or not device.consumes:
            continue
        for ghost in scene.cluster.ghosts.values():
            if ghost.known is None and (ghost.device.driver, ghost.device.pool) == (
                result.device.driver,
                result.device.pool,
            ):
                return Doubt(
                    f"{ghost.device.device} is held by claim {', '.join(ghost.claims)} and no longer published: "
                    f"what it draws from the counters of pool {ghost.device.pool} is unknown",
                    "give an earlier dump first and this one with --then, or wait until the claim is gone",
                )
    return None


def _integers(pod: Wanted, seat: Seat, scene: Scene) -> Doubt | None:
    """An integer on a node whose accelerators claims hold too."""
    for node in scene.physical.sold_twice:
        if node.node == seat.node and node.claimed and node.resource in pod.kind.requests:
            return Doubt(
                f"{node.claimed} of {len(node.devices)} accelerators of {node.node} are held by claims; "
                f"which ones {node.resource} would hand out is unknown",
                f"offer the accelerators of {node.node} in one way only",
            )
    return None
