"""The fewest claims that would have to move to make room for a claim, or for each member of a gang."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from muster_dra import AllocatedState, Allocation, ResourceClaim, allocate
from muster_fragmentation.shapes import Shape
from muster_plan import ClusterNode, Snapshot
from muster_types import DeviceId

MOST_MOVES = 3
"""More claims on one node than that are not moved for one claim: draining the node is the better word for it."""
_MOST_TRIED = 20_000


@dataclass(frozen=True, slots=True)
class Move:
    """A claim goes from one node to another, to these devices; `consumers` are the pods that have to be made again."""

    claim: str
    source: str
    target: str
    devices: tuple[DeviceId, ...]
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """Where a copy of the shape then fits, and what moves first. No moves: it fits as it is."""

    node: str
    devices: tuple[DeviceId, ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class NoRoom:
    """So many members have room; for the next there is none with at most MOST_MOVES moves."""

    found: tuple[Room, ...]
    why: str


def make_room(snapshot: Snapshot, shape: Shape, members: int = 1) -> tuple[Room, ...] | NoRoom:
    """Room for `members` copies, each with the fewest moves that are left to it; nodes in order of their names.

    Devices alone: whether CPU, memory and taints let the moved pods in is for the scheduler.
    """
    state, held = snapshot.allocated, _movable(snapshot)
    found: list[Room] = []
    for _ in range(members):
        answer = _one(snapshot, shape, state, held)
        if answer is None:
            return NoRoom(tuple(found), f"no node has room for {shape.name} after {MOST_MOVES} moves or fewer")
        room, state, held = answer
        found.append(room)
    return tuple(found)


Held = dict[str, tuple[ResourceClaim, ...]]


def _movable(snapshot: Snapshot) -> Held:
    """By node: allocated claims whose devices all lie on it, without admin access."""
    nodes = {node.name for node in snapshot.tables.nodes.values()}
    places_of: dict[tuple[str, str], set[str]] = {}
    for slice_ in snapshot.tables.slices.values():
        places_of.setdefault((slice_.pool.driver, slice_.pool.name), set()).add(slice_.place.node_name)
    found: dict[str, list[ResourceClaim]] = {}
    for _, claim in sorted(snapshot.tables.claims.items()):
        if claim.allocation is None or any(each.admin_access for each in claim.allocation.devices):
            continue
        places = {
            place
            for each in claim.allocation.devices
            for place in places_of.get((each.device.driver, each.device.pool), ())
        }
        if len(places) == 1 and (place := next(iter(places))) in nodes:
            found.setdefault(place, []).append(claim)
    return {name: tuple(claims) for name, claims in found.items()}


def _one(
    snapshot: Snapshot, shape: Shape, state: AllocatedState, held: Held
) -> tuple[Room, AllocatedState, Held] | None:
    nodes = [node for _, node in sorted(snapshot.tables.nodes.items())]
    tried = 0
    for count in range(MOST_MOVES + 1):
        for node in nodes:
            for leaving in combinations(held.get(node.name, ()), count):
                tried += 1
                if tried > _MOST_TRIED:
                    return None
                freed = _without(state, leaving)
                answer = allocate(node.node, (shape.claim(),), snapshot.catalog, freed)
                if not isinstance(answer, Allocation):
                    continue
                results = answer.claims[0].results
                taken = freed.plus(results, shape.name)
                settled = _settle(snapshot, nodes, node, leaving, taken)
                if settled is None:
                    continue
                moves, after = settled
                kept = tuple(each for each in held.get(node.name, ()) if each not in leaving)
                room = Room(node.name, tuple(result.device for result in results), moves)
                return room, after, {**held, node.name: kept}
    return None


def _without(state: AllocatedState, claims: Sequence[ResourceClaim]) -> AllocatedState:
    for claim in claims:
        if claim.allocation is not None:
            state = state.minus(claim.allocation.devices, claim.full_name)
    return state


def _settle(
    snapshot: Snapshot,
    nodes: Sequence[ClusterNode],
    source: ClusterNode,
    leaving: Sequence[ResourceClaim],
    state: AllocatedState,
) -> tuple[tuple[Move, ...], AllocatedState] | None:
    """A place for each claim that leaves, on another node, the largest first."""
    moves: list[Move] = []
    for claim in sorted(leaving, key=lambda each: (-_size(each), each.full_name)):
        placed = next(_places(snapshot, nodes, source, claim, state), None)
        if placed is None:
            return None
        move, state = placed
        moves.append(move)
    return tuple(moves), state


def _places(
    snapshot: Snapshot,
    nodes: Sequence[ClusterNode],
    source: ClusterNode,
    claim: ResourceClaim,
    state: AllocatedState,
) -> Iterator[tuple[Move, AllocatedState]]:
    for node in nodes:
        if node.name == source.name or node.unschedulable or not node.ready:
            continue
        answer = allocate(node.node, (claim,), snapshot.catalog, state)
        if isinstance(answer, Allocation):
            results = answer.claims[0].results
            pods = tuple(f"{claim.namespace}/{each.name}" for each in claim.reserved_for)
            devices = tuple(result.device for result in results)
            move = Move(claim.full_name, source.name, node.name, devices, pods)
            yield move, state.plus(results, claim.full_name)


def _size(claim: ResourceClaim) -> int:
    return len(claim.allocation.devices) if claim.allocation is not None else 0
