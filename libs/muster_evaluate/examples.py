"""The node that an autoscaler takes for an example of a group: a live one, else the template (group-capacity §4.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muster_evaluate.fields import Json, part, text
from muster_plan import ClusterNode, NodeGroup, Snapshot
from muster_plan.labels import HOSTNAME
from muster_types import NodeName


def autoscaler_view(snapshot: Snapshot, objects: Sequence[Json]) -> Snapshot:
    """Groups as their example node shows them: values of attributes as published, whatever boot will change, and the
    labels of one node for all. Only slices that are bound to the node itself are copied."""
    slices: dict[str, list[Json]] = {}
    for obj in objects:
        if text(obj.get("kind")) == "ResourceSlice":
            slices.setdefault(text(part(obj, "spec").get("nodeName")), []).append(obj)
    groups = {key: _as_shown(group, snapshot, slices) for key, group in snapshot.tables.groups.items()}
    return replace(snapshot, tables=replace(snapshot.tables, groups=groups))


def example_of(group: NodeGroup, snapshot: Snapshot) -> ClusterNode | None:
    """The first live node of a group by name: ready, not cordoned."""
    nodes = snapshot.tables.nodes
    for key in sorted(nodes):
        node = nodes[key]
        if node.ready and not node.unschedulable and group.has(node.labels):
            return node
    return None


def _as_shown(group: NodeGroup, snapshot: Snapshot, slices: Mapping[str, Sequence[Json]]) -> NodeGroup:
    template = replace(group.template, bindings=(), unique_attributes=())
    example = example_of(group, snapshot)
    if example is None:
        return replace(group, domain_label="", template=template)
    own = sorted(slices.get(example.name, ()), key=lambda each: text(part(each, "metadata").get("name")))
    labels = {name: value for name, value in example.labels.items() if name != HOSTNAME}
    shown = replace(
        template,
        labels=labels,
        allocatable=example.allocatable,
        slices=tuple(_unbound(part(each, "spec"), example.name) for each in own),
    )
    return replace(group, domain_label="", template=shown)


def _unbound(spec: Json, node: NodeName) -> Json:
    """The slice as a template writes it: without its node."""
    return {name: value for name, value in spec.items() if not (name == "nodeName" and value == node)}
