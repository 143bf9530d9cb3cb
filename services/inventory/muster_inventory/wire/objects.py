"""Kubernetes JSON of observed objects to what the inventory keeps of them."""

from collections.abc import Mapping
from typing import cast

import orjson

from muster_dra.objects.claims import parse_claim
from muster_dra.objects.slices import parse_slice
from muster_dra.reading import InvalidObject
from muster_inventory.domain.node import Purpose, Readiness, Ready, Unready
from muster_inventory.domain.node_group import Declaration
from muster_inventory.domain.seen import GroupSeen, NodeSeen, Seen, Unreadable
from muster_inventory.wire.templates import canonical, vouched_of
from muster_plan.node_groups import parse_node_group
from muster_plan.nodes import parse_cluster_node
from muster_plan.reading import Reader, open_object
from muster_types import GangId, NodeGroupName, ObjectKey, OrderId

GANG_LABEL = "muster.dev/gang"
ORDER_LABEL = "muster.dev/order"
GROUP_LABEL = "muster.dev/node-group"
ORDINAL_LABEL = "muster.dev/ordinal"
KINDS = frozenset({"Node", "NodeGroup", "ResourceSlice", "ResourceClaim"})


def read_object(key: ObjectKey, json: bytes) -> Seen | None:
    """What the inventory keeps of an object; None for a kind that it does not keep.

    An object that cannot be read is a value too: it counts as absent and is listed with its field and reason.
    """
    if key.kind not in KINDS:
        return None
    try:
        body = cast("object", orjson.loads(json))
    except orjson.JSONDecodeError as error:
        return Unreadable("", f"no JSON: {error}")
    if not isinstance(body, Mapping):
        return Unreadable("", f"want an object, got {type(body).__name__}")
    obj = cast("Mapping[str, object]", body)
    try:
        match key.kind:
            case "Node":
                return _node(obj)
            case "NodeGroup":
                return _group(obj)
            case "ResourceSlice":
                return parse_slice(obj)
            case _:
                return parse_claim(obj)
    except InvalidObject as fault:
        return Unreadable(fault.field, fault.reason)


def _node(obj: Mapping[str, object]) -> NodeSeen:
    node = parse_cluster_node(obj)
    reader = open_object(obj, "Node", namespaced=False)
    group = node.labels.get(GROUP_LABEL)
    return NodeSeen(
        node=node,
        readiness=_readiness(reader),
        group_label=NodeGroupName(group) if group else None,
        purpose=_purpose(reader.at("metadata"), node.labels),
    )


def _readiness(reader: Reader) -> Readiness:
    """A node without a Ready condition counts as ready: dumps may leave the status out."""
    if reader.at("spec").flag("unschedulable"):
        return Unready("the node is cordoned (spec.unschedulable)")
    for condition in reader.at("status").each("conditions"):
        if condition.text("type", "") == "Ready" and condition.text("status", "") != "True":
            status = condition.text("status", "") or "missing"
            said = condition.text("message", "") or condition.text("reason", "")
            return Unready(f"Ready is {status}{': ' if said else ''}{said}")
    return Ready()


def _purpose(meta: Reader, labels: Mapping[str, str]) -> Purpose | None:
    gang, order = labels.get(GANG_LABEL), labels.get(ORDER_LABEL)
    if not gang or not order:
        return None
    ordinal = labels.get(ORDINAL_LABEL, "")
    if not (ordinal.isascii() and ordinal.isdigit()):
        raise meta.at("labels").fault(ORDINAL_LABEL, f"want the ordinal as digits, got {ordinal!r}")
    return Purpose(OrderId(order), GangId(gang), int(ordinal))


def _group(obj: Mapping[str, object]) -> GroupSeen:
    group = parse_node_group(obj)
    reader = open_object(obj, "NodeGroup", namespaced=False)
    meta, spec = reader.at("metadata"), reader.at("spec")
    kept = {
        "apiVersion": obj.get("apiVersion"),
        "kind": "NodeGroup",
        "metadata": {"name": group.name, "labels": meta.texts("labels"), "annotations": meta.texts("annotations")},
        "spec": spec.body,
    }
    declaration = Declaration(
        name=group.name,
        min_size=group.min_size,
        max_size=group.max_size,
        current_size=group.current_size,
        price_per_node=float(group.price),
        driver=group.driver,
        template=canonical(spec.body.get("template")),
        json=canonical(kept),
        vouched=vouched_of(canonical(kept)),
    )
    slices = spec.at("template").each("resourceSlices")
    pools: dict[str, set[str]] = {}
    for each in slices:
        pools.setdefault(each.text("driver"), set()).add(each.at("pool").text("name", ""))
    return GroupSeen(
        declaration,
        group,
        promised_pools={driver: len(names) for driver, names in sorted(pools.items())},
        promised_devices=sum(len(each.each("devices")) for each in slices),
    )
