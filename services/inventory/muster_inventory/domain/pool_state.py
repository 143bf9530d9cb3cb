"""The state of a pool over the whole cluster, from all its slices (group-capacity §8.3, V1 to V5)."""

from collections.abc import Sequence
from dataclasses import replace

from muster_dra.features import Features
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import NodePlace, PoolId, ResourceSlice
from muster_dra.pools import PoolReason, UnreadableSelector, gather_pools
from muster_dra.pools import PoolState as SeenState
from muster_inventory.domain.pool import Flaw, Pool, PoolState
from muster_types import NodeName

_EVERYWHERE = NodePlace(all_nodes=True)
_ANY = Node(NodeName("any"))


def judge_pool(id: PoolId, slices: Sequence[ResourceSlice]) -> Pool | None:
    """The pool as a node would see it that sees all of `slices`; None without slices.

    Which of them a node really sees is for the planner; whether the driver has published a whole and sound pool is
    the same for all.
    """
    if not slices:
        return None
    ordered = [replace(each, place=_EVERYWHERE, per_device_nodes=None) for each in sorted(slices, key=_name)]
    pools = gather_pools(_ANY, ordered, lambda _: ordered, Features.v1_37())
    if isinstance(pools, UnreadableSelector):  # the places were replaced, so there is no selector to read
        raise AssertionError(pools.sentence())
    (seen,) = pools
    newest = [each for each in slices if each.generation == seen.generation]
    return Pool(
        id=id,
        state=_STATES[seen.state],
        generation=seen.generation,
        device_count=sum(len(each.devices) for each in newest if not each.holds_counters),
        node=_only_node(newest),
        flaw=None if seen.reason is None else _flaw(seen.reason, id),
    )


_STATES = {
    SeenState.COMPLETE: PoolState.COMPLETE,
    SeenState.INCOMPLETE: PoolState.INCOMPLETE,
    SeenState.DROPPED: PoolState.INCOMPLETE,
    SeenState.INVALID: PoolState.INVALID,
}


def _flaw(reason: PoolReason, id: PoolId) -> Flaw:
    return Flaw(reason.defect.name, reason.sentence(id))


def _only_node(slices: Sequence[ResourceSlice]) -> NodeName | None:
    names = {each.place.node_name for each in slices}
    (name,) = names if len(names) == 1 else ("",)
    return NodeName(name) if name else None


def _name(each: ResourceSlice) -> str:
    return each.name
