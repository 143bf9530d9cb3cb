"""What Muster writes on nodes: the reservation of ordered ones, and that no autoscaler takes held ones away."""

from collections.abc import Callable, Collection, Mapping

from muster_eventstore import TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import NODES, ClusterApi, each_of, node_target
from muster_gang_coordinator.domain.details import GANG_LABEL
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Conflict, Json, get, list_pages, patch
from muster_types import GangId, NodeName

SCALE_DOWN = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
HELD_BY = "muster.dev/held-by"  # annotation: ids of the gangs, by commas
HELD = "muster.dev/held"  # label, by which held nodes are found
_ATTEMPTS = 20

Change = Callable[[Json], Json | None]


async def lift_reservation(api: ClusterApi, taint: str, nodes: Collection[NodeName]) -> None:
    """Take the taint and the label that names its gang from nodes. Raises KubeError, TransientError."""
    await each_of(sorted(nodes), lambda node: _write(api, node, lambda obj: _without_reservation(obj, taint)))


async def hold_nodes(api: ClusterApi, gang: GangId, nodes: Collection[NodeName]) -> None:
    """Say on nodes that the gang counts on them. A node that somebody else keeps from being scaled down stays as it is.
    Raises KubeError, TransientError."""
    await each_of(sorted(nodes), lambda node: _write(api, node, lambda obj: _held(obj, gang)))


async def let_nodes_go(api: ClusterApi, gang: GangId, nodes: Collection[NodeName]) -> None:
    """Take that back; the mark goes with the last gang. Raises KubeError, TransientError."""
    await each_of(sorted(nodes), lambda node: _write(api, node, lambda obj: _let_go(obj, gang)))


async def held_nodes(api: ClusterApi) -> Mapping[GangId, frozenset[NodeName]]:
    """Which gangs hold which nodes, as the cluster has it. Raises KubeError."""
    found: dict[GangId, set[NodeName]] = {}
    async for page in list_pages(api.client, NODES, label_selector=HELD):
        if page.first:
            found.clear()
        for node in page.items:
            for gang in _holders(node):
                found.setdefault(gang, set()).add(NodeName(text(at(node, "metadata", "name"))))
    return {gang: frozenset(nodes) for gang, nodes in sorted(found.items())}


def _without_reservation(node: Json, taint: str) -> Json | None:
    key, _, rest = taint.partition("=")
    value, _, effect = rest.rpartition(":")
    taints = [mapping(each) for each in sequence(at(node, "spec", "taints"))]
    kept = [each for each in taints if (each.get("key"), each.get("value"), each.get("effect")) != (key, value, effect)]
    labelled = mapping(at(node, "metadata", "labels")).get(GANG_LABEL) == value
    change: dict[str, object] = {}
    if len(kept) < len(taints):
        change["spec"] = {"taints": kept or None}
    if labelled:
        change["metadata"] = {"labels": {GANG_LABEL: None}}
    return change or None


def _held(node: Json, gang: GangId) -> Json | None:
    holders = _holders(node)
    foreign = not holders and mapping(at(node, "metadata", "annotations")).get(SCALE_DOWN) == "true"
    if foreign or gang in holders:
        return None
    written = ",".join(sorted((*holders, gang)))
    return {"metadata": {"annotations": {HELD_BY: written, SCALE_DOWN: "true"}, "labels": {HELD: ""}}}


def _let_go(node: Json, gang: GangId) -> Json | None:
    holders = _holders(node)
    if gang not in holders:
        return None
    left = ",".join(each for each in holders if each != gang)
    if left:
        return {"metadata": {"annotations": {HELD_BY: left}}}
    return {"metadata": {"annotations": {HELD_BY: None, SCALE_DOWN: None}, "labels": {HELD: None}}}


def _holders(node: Json) -> tuple[GangId, ...]:
    written = text(mapping(at(node, "metadata", "annotations")).get(HELD_BY))
    return tuple(GangId(each) for each in written.split(",") if each)


async def _write(api: ClusterApi, node: NodeName, change: Change) -> None:
    """Change a node as it is; one that is gone is passed over."""
    target = node_target(node)
    for _ in range(_ATTEMPTS):
        present = await get(api.client, target)
        wanted = None if present is None else change(present)
        if present is None or wanted is None:
            return
        version = {"resourceVersion": at(present, "metadata", "resourceVersion")}
        merged = {**wanted, "metadata": {**mapping(wanted.get("metadata")), **version}}
        if not isinstance(await patch(api.client, target, merged), Conflict):
            return
    raise TransientError(f"cluster {api.cluster!r}: node {node} changed {_ATTEMPTS} times while it was written")
