"""The inventory's own state as canonical JSON: equal states give equal bytes, whichever way they came about."""

from collections.abc import Iterable
from typing import TypeVar

import orjson

from muster_eventstore.subjects import InvalidSubject, parse_event
from muster_inventory.domain.node import Node, Ready, Unready
from muster_inventory.domain.node_group import NodeGroup
from muster_inventory.domain.pool import Pool
from muster_plan.shape import ShapeMismatch
from muster_types import ClusterId

Json = dict[str, object]
T = TypeVar("T")


def export_state(
    cluster: ClusterId,
    nodes: Iterable[tuple[str, Node | None]],
    groups: Iterable[tuple[str, NodeGroup]],
    pools: Iterable[tuple[str, Pool | None]],
) -> bytes:
    """The fold of the stream `inventory` for one cluster, from the aggregates by subject. Gone objects leave no trace,
    but for groups, whose trust outlives a withdrawal."""
    state: Json = {
        "cluster": cluster,
        "nodeGroups": {group: _group(state) for group, state in _of(cluster, groups)},
        "nodes": {node: _node(state) for node, state in _of(cluster, nodes) if state is not None},
        "pools": {pool: _pool(state) for pool, state in _of(cluster, pools) if state is not None},
    }
    return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)


def _of(cluster: ClusterId, states: Iterable[tuple[str, T]]) -> Iterable[tuple[str, T]]:
    for subject, state in states:
        parsed = parse_event(subject)
        if not isinstance(parsed, InvalidSubject) and parsed.cluster == cluster:
            yield "/".join(parsed.ids), state


def _node(node: Node) -> Json:
    match node.readiness:
        case Ready():
            readiness: Json = {"ready": True}
        case Unready(reason):
            readiness = {"ready": False, "reason": reason}
        case None:
            readiness = {}
    arrived = node.arrived
    return {
        "nodeGroup": node.group,
        "order": node.order,
        "gang": node.gang,
        **readiness,
        "arrived": None
        if arrived is None
        else {"order": arrived.order, "gang": arrived.gang, "ordinal": arrived.ordinal},
        "mismatches": _mismatches(node.mismatches),
    }


def _group(group: NodeGroup) -> Json:
    declared = group.declaration
    return {
        "declared": None if declared is None else orjson.loads(declared.json),
        "trust": group.trust.value,
        "evidence": _mismatches(group.evidence),
        "judged": sorted(group.judged),
    }


def _pool(pool: Pool) -> Json:
    return {
        "state": pool.state.value,
        "generation": pool.generation,
        "devices": pool.device_count,
        "node": pool.node,
        "flaw": None if pool.flaw is None else {"code": pool.flaw.code, "sentence": pool.flaw.sentence},
    }


def _mismatches(mismatches: Iterable[ShapeMismatch]) -> list[Json]:
    return [
        {"check": each.check, "expected": each.expected, "actual": each.actual, "sentence": each.sentence}
        for each in mismatches
    ]
