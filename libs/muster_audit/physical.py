"""Facts about the hardware that the API does not count: one device under two names, parents beside their partitions,
accelerators that are sold as integers and as devices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muster_audit.facts import Published, identity_of, parent_reference
from muster_dra import AllocatedDevice, AllocatedState, PoolId
from muster_plan import Snapshot
from muster_types import NANO, DeviceId, NodeName

IN_USE = "hardware in use"
"""Begins the holder that blocks a device without a claim."""


@dataclass(frozen=True, slots=True)
class Twins:
    """One physical device that several pools publish."""

    identity: str
    devices: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """A device beside its partitions, with no shared counter between them."""

    parent: DeviceId
    partitions: tuple[DeviceId, ...]
    by: str
    """How the relation is known, for example "uuid = parentUUID"."""


@dataclass(frozen=True, slots=True)
class SoldTwice:
    """A node that offers the same accelerators as an integer resource and as devices of a driver.

    `integers` are handed out as the resource to `pods`; `claimed` devices are held by claims.
    """

    node: NodeName
    resource: str
    driver: str
    offered: int
    devices: tuple[DeviceId, ...]
    integers: int
    claimed: int
    pods: tuple[str, ...]

    @property
    def free(self) -> int:
        """Physical ones left for both ways together."""
        return max(min(self.offered, len(self.devices)) - self.integers - self.claimed, 0)


@dataclass(frozen=True, slots=True)
class Physical:
    """`related`: devices that are, or overlap with, the same hardware and are counted apart."""

    twins: tuple[Twins, ...]
    overlaps: tuple[Overlap, ...]
    sold_twice: tuple[SoldTwice, ...]
    related: Mapping[DeviceId, tuple[DeviceId, ...]] = field(default_factory=dict[DeviceId, tuple[DeviceId, ...]])

    @classmethod
    def of(cls, published: Published, snapshot: Snapshot) -> "Physical":
        twins, overlaps = _twins(published), _overlaps(published)
        related: dict[DeviceId, set[DeviceId]] = {}
        for group in (*(each.devices for each in twins),):
            for device in group:
                related.setdefault(device, set()).update(other for other in group if other != device)
        for overlap in overlaps:
            for partition in overlap.partitions:
                related.setdefault(overlap.parent, set()).add(partition)
                related.setdefault(partition, set()).add(overlap.parent)
        return cls(
            twins,
            overlaps,
            _sold_twice(published, snapshot),
            {device: tuple(sorted(others)) for device, others in sorted(related.items())},
        )

    def conflicts(self, devices: Iterable[DeviceId]) -> tuple[DeviceId, ...]:
        """Other devices that these make unusable."""
        return tuple(sorted({other for device in devices for other in self.related.get(device, ())}))

    def limited(self, allocated: AllocatedState) -> AllocatedState:
        """The state with as many devices taken as integers were handed out, whichever they are."""
        for node in self.sold_twice:
            left = [device for device in node.devices if not allocated.holders(device)]
            surplus = max(len(left) - node.free, 0)
            names = ", ".join(node.pods)
            allocated = block(allocated, left[len(left) - surplus :], f"{names} as {node.resource}")
        return allocated

    def careful(self, allocated: AllocatedState) -> AllocatedState:
        """The state with every device blocked that the hardware may not be able to give."""
        parents = [overlap.parent for overlap in self.overlaps]
        others = [other for device in self.related if allocated.holders(device) for other in self.related[device]]
        unknown = [device for node in self.sold_twice if node.integers for device in node.devices]
        free = [device for device in sorted({*parents, *others, *unknown}) if not allocated.holders(device)]
        return block(allocated, free, IN_USE)


def block(allocated: AllocatedState, devices: Iterable[DeviceId], holder: str) -> AllocatedState:
    """The state with devices held by somebody who has no claim; the same state where there is none."""
    taken = [AllocatedDevice("", device) for device in devices]
    return allocated.plus(taken, holder) if taken else allocated


def _twins(published: Published) -> tuple[Twins, ...]:
    found: dict[tuple[str, str], set[DeviceId]] = {}
    for id_, device in published.devices.items():
        for identity in identity_of(id_.driver, device, published.node_of(id_)):
            found.setdefault(identity, set()).add(id_)
    twins: dict[tuple[DeviceId, ...], str] = {}
    for (kind, value), devices in sorted(found.items()):
        pools = {PoolId(each.driver, each.pool) for each in devices}
        drivers = {each.driver for each in devices}
        if len(pools) == len(devices) > 1 and (kind == "identity" or len(drivers) == len(devices)):
            twins.setdefault(tuple(sorted(devices)), value)
    return tuple(Twins(value, devices) for devices, value in sorted(twins.items(), key=lambda item: item[0]))


def _overlaps(published: Published) -> tuple[Overlap, ...]:
    found: dict[DeviceId, list[DeviceId]] = {}
    how: dict[DeviceId, str] = {}
    index = published.by_value()
    for id_, device in published.devices.items():
        for name, value in parent_reference(device):
            pool = PoolId(id_.driver, id_.pool)
            for parent, attribute in index.get((pool, name, value), ()):
                if parent == id_ or _share_counters(published, parent, id_):
                    continue
                found.setdefault(parent, []).append(id_)
                how.setdefault(parent, attribute)
    return tuple(Overlap(parent, tuple(dict.fromkeys(found[parent])), how[parent]) for parent in sorted(found))


def _share_counters(published: Published, one: DeviceId, other: DeviceId) -> bool:
    sets = [{each.counter_set for each in published.devices[device].consumes} for device in (one, other)]
    return bool(sets[0] & sets[1])


def _sold_twice(published: Published, snapshot: Snapshot) -> tuple[SoldTwice, ...]:
    """A resource `domain/name` and devices of driver `name.domain` (or `domain`) on one node: the usual naming."""
    by_node: dict[tuple[NodeName, str], list[DeviceId]] = {}
    for id_ in published.devices:
        node = published.node_of(id_)
        if node and not published.is_partition(id_):
            by_node.setdefault((node, id_.driver), []).append(id_)
    explicit = {
        (each.extended_resource_name, driver)
        for each in snapshot.tables.classes.values()
        if each.extended_resource_name
        for driver in published.drivers_of(each)
    }
    found: list[SoldTwice] = []
    for key in sorted(snapshot.tables.nodes):
        node = snapshot.tables.nodes[key]
        for resource, amount in sorted(node.allocatable.items()):
            domain, slash, name = resource.partition("/")
            if not slash or amount <= 0:
                continue
            drivers = {f"{name}.{domain}", domain} | {driver for said, driver in explicit if said == resource}
            for driver in sorted(drivers):
                devices = by_node.get((node.name, driver), [])
                if devices:
                    found.append(_sold(node.name, resource, amount // NANO, driver, devices, snapshot))
    return tuple(found)


def _sold(
    node: NodeName, resource: str, offered: int, driver: str, devices: list[DeviceId], snapshot: Snapshot
) -> SoldTwice:
    pods = {
        f"{key.namespace}/{key.name}": pod.spec.requests[resource] // NANO
        for key, pod in sorted(snapshot.pods_by_node.get(node, {}).items())
        if resource in pod.spec.requests
    }
    claimed = sum(1 for device in devices if snapshot.allocated.holders(device))
    return SoldTwice(
        node,
        resource,
        driver,
        offered,
        tuple(devices),
        sum(pods.values()),
        claimed,
        tuple(f"pod {pod}" for pod in pods),
    )
