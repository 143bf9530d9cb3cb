"""What is promised against what there is, judged from the recorded messages and the facts that they were made on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.events.gangs.v1 import gangs_pb2 as gangs
from muster.type.v1.plan_pb2 import Placement
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ObjectKey, parse_quantity
from simulation import objects
from simulation.objects import Json
from simulation.record import BookingRecord, GangRecord, Record
from simulation.scenario import GangPlan

Device = tuple[str, str, str]
Cluster = Mapping[ObjectKey, Json]


def double_promises(record: Record, gang: str, cluster: Cluster) -> Iterator[str]:
    """Where the newest booking of a gang meets other bookings, or what the cluster showed as taken when it was made."""
    holders: dict[Device, list[str]] = {}
    for other, booking in sorted(record.ledger.items()):
        for device in _devices(booking.placements):
            holders.setdefault(device, []).append(other)
    for device, gangs_of in sorted(holders.items()):
        if gang in gangs_of and len(gangs_of) > 1:
            yield f"device {device} is booked for {gangs_of}"
    held = _allocated(record, cluster)
    for device in sorted(set(_devices(record.ledger[gang].placements)) & held.keys()):
        if held[device] not in _own(record, gang):
            yield f"device {device} of {gang} was allocated to {held[device]} when it was booked"
    yield from _counters(record, gang, cluster, held)
    yield from _room(record, gang, cluster)


def _devices(placements: Sequence[Any]) -> list[Device]:
    """Whole devices of members on nodes that exist; a claim that pods share counts once."""
    found: list[Device] = []
    for placement in placements:
        for claim in placement.claims if placement.node else ():
            if not claim.existing:
                found.extend((r.device.driver, r.device.pool, r.device.device) for r in claim.results)
    return found


def _own(record: Record, gang: str) -> set[str]:
    return {record.gangs[gang].name} if gang in record.gangs else set()


def _allocated(record: Record, cluster: Cluster) -> dict[Device, str]:
    """Devices that claims of the cluster hold, by the request whose pods hold them; those of gangs with a standing
    booking count with their booking, whatever devices the scheduler chose."""
    booked = {record.gangs[g].name for g, b in record.ledger.items() if b.placements and g in record.gangs}
    held: dict[Device, str] = {}
    for key, obj in cluster.items():
        if key.kind != "ResourceClaim":
            continue
        owner = _consumed_by(cluster, key, obj)
        if owner in booked:
            continue
        for result in sequence(at(obj, "status", "allocation", "devices", "results")):
            each = mapping(result)
            held[text(each.get("driver")), text(each.get("pool")), text(each.get("device"))] = owner or str(key)
    return held


def _consumed_by(cluster: Cluster, key: ObjectKey, claim: Json) -> str:
    for consumer in sequence(at(claim, "status", "reservedFor")):
        pod = cluster.get(ObjectKey("Pod", key.namespace, text(mapping(consumer).get("name"))))
        if pod is not None:
            return text(mapping(at(pod, "metadata", "annotations")).get(objects.CONSUME))
    return ""


def _counters(record: Record, gang: str, cluster: Cluster, held: Mapping[Device, str]) -> Iterator[str]:
    """Parts of a divisible device draw on its slots."""
    draws: dict[Device, int] = {}
    limits: dict[tuple[str, str], int] = {}
    for key, obj in cluster.items():
        if key.kind != "ResourceSlice" or text(at(obj, "spec", "driver")) != objects.PART:
            continue
        pool = text(at(obj, "spec", "pool", "name"))
        for each in map(mapping, sequence(at(obj, "spec", "sharedCounters"))):
            limits[objects.PART, pool] = int(text(at(each, "counters", "slots", "value")))
        for device in map(mapping, sequence(at(obj, "spec", "devices"))):
            for use in map(mapping, sequence(device.get("consumesCounters"))):
                draws[objects.PART, pool, text(device.get("name"))] = int(text(at(use, "counters", "slots", "value")))
    used: Counter[tuple[str, str]] = Counter()
    mine: set[tuple[str, str]] = set()
    for other, booking in record.ledger.items():
        for device in _devices(booking.placements):
            used[device[:2]] += draws.get(device, 0)
            if other == gang:
                mine.add(device[:2])
    for device in held:
        used[device[:2]] += draws.get(device, 0)
    for pool in sorted(mine & limits.keys()):
        if used[pool] > limits[pool]:
            yield f"counter slots of pool {pool}: {used[pool]} of {limits[pool]} promised"


def _room(record: Record, gang: str, cluster: Cluster) -> Iterator[str]:
    """CPU of a node: all bookings on it, and pods that belong to no standing booking."""
    booked = {record.gangs[g].name for g, b in record.ledger.items() if b.placements and g in record.gangs}
    wanted: Counter[str] = Counter()
    mine: set[str] = set()
    for other, booking in record.ledger.items():
        for placement in booking.placements:
            if placement.node:
                wanted[placement.node] += _cpu(placement.resources)
                if other == gang:
                    mine.add(placement.node)
    for key, obj in cluster.items():
        if key.kind == "Pod" and text(mapping(at(obj, "metadata", "annotations")).get(objects.CONSUME)) not in booked:
            node = text(at(obj, "spec", "nodeName"))
            for container in map(mapping, sequence(at(obj, "spec", "containers"))):
                wanted[node] += _cpu(mapping(at(container, "resources", "requests")))
    for name in sorted(mine):
        node = cluster.get(ObjectKey("Node", "", name))
        if node is not None:
            most = _cpu(mapping(at(node, "status", "allocatable")))
            if wanted[name] > most:
                yield f"cpu of node {name}: {wanted[name] / 10**9:g} of {most / 10**9:g} promised"


def _cpu(resources: Mapping[str, object]) -> int:
    found = parse_quantity(text(resources.get("cpu")) or "0")
    assert isinstance(found, int)
    return found


def unfit_confirmation(
    placements: Sequence[Placement], gang: str, plan: GangPlan | None, cluster: Cluster
) -> Iterator[str]:
    """Members that are not on ready nodes with devices that are there and satisfy their claims."""
    for placement in placements:
        who = f"{placement.pod_set}/{placement.index}"
        node = cluster.get(ObjectKey("Node", "", placement.node))
        if node is None:
            yield f"{who}: node {placement.node!r} is not there"
            continue
        yield from (f"{who}: {why}" for why in _unfit_node(node, gang))
        if plan is not None and placement.pod_set == plan.name:
            yield from (f"{who}: {why}" for why in _unfit_claims(placement, plan, cluster))


def _unfit_node(node: Json, gang: str) -> Iterator[str]:
    name = text(at(node, "metadata", "name"))
    conditions = map(mapping, sequence(at(node, "status", "conditions")))
    if not any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        yield f"node {name} is not Ready"
    if at(node, "spec", "unschedulable") is True:
        yield f"node {name} is cordoned"
    for taint in map(mapping, sequence(at(node, "spec", "taints"))):
        own = taint.get("key") == "muster.dev/gang" and taint.get("value") == gang
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not own:
            yield f"node {name} has taint {taint}"


def _unfit_claims(placement: Placement, plan: GangPlan, cluster: Cluster) -> Iterator[str]:
    shape, pools = plan.shape, _pools(placement.node, cluster)
    chosen = [result.device for claim in placement.claims for result in claim.results]
    found: list[Json] = []
    for device in chosen:
        shown = pools.get((device.driver, device.pool), {}).get(device.device)
        if shown is None:
            yield f"device {device.driver}/{device.pool}/{device.device} is not published by a whole pool"
        else:
            found.append({"driver": device.driver, **shown})
            if any(mapping(t).get("effect") in ("NoSchedule", "NoExecute") for t in sequence(shown.get("taints"))):
                yield f"device {device.device} is tainted"
    gpus = [device for device in found if device["driver"] == objects.GPU]
    halves = [device for device in found if device["driver"] == objects.PART]
    if len(chosen) == len(found) and (len(gpus), len(halves)) != (shape.gpus, shape.halves):
        yield f"{len(gpus)} GPUs and {len(halves)} halves where {shape.gpus} and {shape.halves} are asked for"
    if shape.model and any(text(at(d, "attributes", "model", "string")) != shape.model for d in gpus):
        yield f"a GPU of another model than {shape.model}"
    if shape.aligned and len({at(d, "attributes", "numa", "int") for d in gpus}) > 1:
        yield "the GPUs are of several NUMA nodes"
    if any(text(at(d, "attributes", "kind", "string")) != "half" for d in halves):
        yield "a part that is no half"


def _pools(node: str, cluster: Cluster) -> dict[tuple[str, str], dict[str, Json]]:
    """Devices of the whole pools of a node, by pool and name; only the newest generation counts."""
    slices: dict[tuple[str, str], list[Json]] = {}
    for key, obj in cluster.items():
        if key.kind == "ResourceSlice":
            spec = mapping(obj.get("spec"))
            slices.setdefault((text(spec.get("driver")), text(at(spec, "pool", "name"))), []).append(dict(spec))
    found: dict[tuple[str, str], dict[str, Json]] = {}
    for pool, specs in slices.items():
        newest = max(int(str(at(spec, "pool", "generation"))) for spec in specs)
        current = [spec for spec in specs if at(spec, "pool", "generation") == newest]
        whole = len(current) == at(current[0], "pool", "resourceSliceCount")
        if whole and all(spec.get("nodeName") == node for spec in current):
            devices = [dict(mapping(d)) for spec in current for d in sequence(spec.get("devices"))]
            found[pool] = {text(device.get("name")): device for device in devices}
    return found


def broken_offer(booking: BookingRecord | None, gang: GangRecord, event: gangs.GangReadied) -> Iterator[str]:
    """An offer says what the ledger has confirmed for this attempt, for every member, each once."""
    if booking is None or booking.confirmed != event.attempt:
        yield f"offered in attempt {event.attempt}, which the ledger has not confirmed"
        return
    if _places(booking.placements) != _places(event.placements):
        yield f"offered {_places(event.placements)}, confirmed {_places(booking.placements)}"
    members = [(p.pod_set, p.index) for p in event.placements]
    if len(members) != gang.pods or len(set(members)) != gang.pods:
        yield f"{len(set(members))} members of {gang.pods} are placed"


def _places(placements: Sequence[Any]) -> list[tuple[str, int, str, tuple[Device, ...]]]:
    return [(p.pod_set, p.index, p.node, tuple(_devices([p]))) for p in placements]
