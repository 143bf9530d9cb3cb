"""Node resources that devices stand for (KEP-5517, dra-semantics §5.4): what claims take of them no other pod can have.

A cluster whose slices have the mapping has its gate on, for the API server drops the field otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muster_audit.frames import Frame
from muster_audit.parts import Json, mapping, part, parts, text
from muster_dra import DeviceResult
from muster_plan import Snapshot
from muster_types import NANO, DeviceId, InvalidQuantity, NodeName, ObjectKey, parse_quantity


@dataclass(frozen=True, slots=True)
class Share:
    """What a device takes of a node resource: `times` (nano-units) for each unit taken of its capacity `key`, or for
    the device itself where `key` is empty."""

    resource: str
    key: str
    times: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """`on_node` is what pods' claims take of each node, in nano-units."""

    shares: Mapping[DeviceId, tuple[Share, ...]] = field(default_factory=dict[DeviceId, tuple[Share, ...]])
    on_node: Mapping[NodeName, Mapping[str, int]] = field(default_factory=dict[NodeName, Mapping[str, int]])

    @classmethod
    def of(cls, frame: Frame, snapshot: Snapshot) -> "Mapped":
        shares: dict[DeviceId, tuple[Share, ...]] = {}
        for key, obj in frame.of_kind("ResourceSlice"):
            slice_ = snapshot.tables.slices.get(key)
            for device in parts(obj, "spec", "devices") if slice_ is not None else ():
                found = _shares(device)
                if found and slice_ is not None:
                    shares[slice_.pool.device(text(device.get("name")))] = found
        return cls(shares, _on_nodes(shares, snapshot)) if shares else cls()

    def taken(self, results: Iterable[DeviceResult]) -> dict[str, int]:
        """What planned devices would take of their node, in nano-units."""
        total: dict[str, int] = {}
        for result in results if self.shares else ():
            consumed = {name: int(amount.nano) for name, amount in result.consumed.items()}
            _add(total, self.shares.get(result.device, ()), consumed)
        return total


def _shares(device: Json) -> tuple[Share, ...]:
    found: list[Share] = []
    for resource, each in part(device, "nodeAllocatableResources").items():
        rule = part(mapping(each), "mapping")
        key = text(rule.get("capacityKey"))
        found.append(Share(resource, key, _times(rule.get("capacityMultiplier" if key else "deviceMultiplier"))))
    for resource, each in part(device, "nodeAllocatableResourceMappings").items():
        rule = mapping(each)
        found.append(Share(resource, text(rule.get("capacityKey")), _times(rule.get("allocationMultiplier"))))
    return tuple(found)


def _times(written: object) -> int:
    try:
        return parse_quantity(str(written)) if written is not None else NANO
    except InvalidQuantity:
        return NANO


def _on_nodes(shares: Mapping[DeviceId, tuple[Share, ...]], snapshot: Snapshot) -> dict[NodeName, dict[str, int]]:
    """By the nodes of the pods that the claims are reserved for; a claim counts once on each."""
    found: dict[NodeName, dict[str, int]] = {}
    for key in sorted(snapshot.tables.claims):
        claim = snapshot.tables.claims[key]
        if claim.allocation is None:
            continue
        pods = [
            snapshot.tables.pods.get(ObjectKey("Pod", claim.namespace, each.name))
            for each in claim.reserved_for
            if each.resource == "pods"
        ]
        for node in sorted({pod.node for pod in pods if pod is not None and pod.node and not pod.finished}):
            for each in claim.allocation.devices:
                consumed = {name: int(amount) for name, amount in (each.consumed or {}).items()}
                _add(found.setdefault(NodeName(node), {}), shares.get(each.device, ()), consumed)
    return found


def _add(total: dict[str, int], shares: Iterable[Share], consumed: Mapping[str, int]) -> None:
    for share in shares:
        amount = consumed.get(share.key, 0) * share.times // NANO if share.key else share.times
        total[share.resource] = total.get(share.resource, 0) + amount
