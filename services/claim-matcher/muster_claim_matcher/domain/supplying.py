"""What there is for bookings, from the snapshot: the ledger's own check needs it beside the plan."""

from collections.abc import Iterable, Mapping

from muster_claim_matcher.domain.consumption import AllocatedClaims
from muster_claim_matcher.domain.demand import Counter, Demand, Room, Share, Supply
from muster_claim_matcher.domain.view import Holding, shown_nodes, with_real_sizes
from muster_dra import AllocatedState, Device, PoolId, ResourceSlice
from muster_plan import Snapshot
from muster_types import GangId, Nano, NodeGroupName, NodeName, ObjectKey


def supply_of(snapshot: Snapshot, demand: Demand, bookings: Mapping[GangId, Holding]) -> Supply:
    """Supply of everything that `demand` touches, with all bookings there are.

    What pods of booked gangs use is not taken off, for their bookings count it still.
    """
    own_pods = {ObjectKey("Pod", pod.namespace, pod.name) for holding in bookings.values() for pod in holding.pods}
    held = snapshot.held
    claims = AllocatedClaims(snapshot.tables.claims)
    for holding in bookings.values():
        for pod in holding.pods:
            for claim in claims.of(pod):
                if claim.allocation is not None:
                    held = held.minus(claim.allocation.devices, claim.full_name)
    pools = {PoolId(device.driver, device.pool) for device in demand.devices}
    published = {pool: _newest(snapshot.catalog.index.of_pool(pool)) for pool in sorted(pools, key=str)}
    return Supply(
        room=_room(snapshot, demand, own_pods),
        nodes=_nodes(snapshot, demand, bookings),
        shares=_shares(demand, published, held),
        counters=_counters(published, held),
        draws={
            pool.device(device.name): draws
            for pool, slices in published.items()
            for each in slices
            for device in each.devices
            if (draws := _draws(pool, device))
        },
    )


def _room(snapshot: Snapshot, demand: Demand, own_pods: set[ObjectKey]) -> dict[Room, Nano]:
    wanted: dict[NodeName, list[Room]] = {}
    for room in demand.room:
        wanted.setdefault(room.node, []).append(room)
    found: dict[Room, Nano] = {}
    for name in sorted(wanted):
        node = snapshot.node(name)
        if node is None:
            continue
        strangers = [pod for key, pod in snapshot.pods_by_node.get(name, {}).items() if key not in own_pods]
        for room in wanted[name]:
            total = node.allocatable.get(room.resource)
            if total is not None:  # what a node does not list comes from devices, or is not checked
                used = sum(pod.spec.requests.get(room.resource, 0) for pod in strangers)
                found[room] = Nano(total - used)
    return found


def _nodes(snapshot: Snapshot, demand: Demand, bookings: Mapping[GangId, Holding]) -> dict[NodeGroupName, int]:
    """How many nodes all bookings together may order: those of theirs that are there already are not counted off."""
    found: dict[NodeGroupName, int] = {}
    sized = with_real_sizes(snapshot)
    for name in demand.nodes:
        group = sized.group(name)
        if group is not None:
            found[name] = group.max_size - group.current_size
    for gang, holding in bookings.items() if found else ():
        for name, count in shown_nodes(gang, holding.booking, snapshot).items():
            if name in found:
                found[NodeGroupName(name)] += count
    return found


def _shares(
    demand: Demand, published: Mapping[PoolId, tuple[ResourceSlice, ...]], held: AllocatedState
) -> dict[Share, Nano]:
    found: dict[Share, Nano] = {}
    devices = {
        pool.device(device.name): device
        for pool, slices in published.items()
        for each in slices
        for device in each.devices
    }
    for share in demand.shares:
        device = devices.get(share.device)
        capacity = None if device is None else device.capacity.get(share.capacity)
        if capacity is not None:
            found[share] = Nano(capacity.value.nano - _used(share, held))
    return found


def _used(share: Share, held: AllocatedState) -> int:
    use = held.use(PoolId(share.device.driver, share.device.pool)).shared.get(share.device.device)
    return 0 if use is None or use.amounts is None else use.amounts.get(share.capacity, 0)


def _counters(published: Mapping[PoolId, tuple[ResourceSlice, ...]], held: AllocatedState) -> dict[Counter, Nano]:
    found: dict[Counter, Nano] = {}
    for pool, slices in published.items():
        for each in slices:
            for counter_set in each.counter_sets:
                for name, amount in counter_set.counters.items():
                    found[Counter(pool.driver, pool.name, counter_set.name, name)] = amount
        use = held.use(pool)
        for each in slices:
            for device in each.devices:
                if use.is_allocated(device.name):
                    for counter, amount in _draws(pool, device):
                        if counter in found:
                            found[counter] = Nano(found[counter] - amount)
    return found


def _draws(pool: PoolId, device: Device) -> tuple[tuple[Counter, Nano], ...]:
    return tuple(
        (Counter(pool.driver, pool.name, each.counter_set, name), amount)
        for each in device.consumes
        for name, amount in sorted(each.counters.items())
    )


def _newest(slices: Iterable[ResourceSlice]) -> tuple[ResourceSlice, ...]:
    ordered = sorted(slices, key=lambda each: each.name)
    newest = max((each.generation for each in ordered), default=0)
    return tuple(each for each in ordered if each.generation == newest)
