"""Node groups and the nodes that belong to them; what a group brings, learned from its nodes where its template says
nothing, or says what no node of it keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_audit.facts import names_hardware
from muster_audit.frames import Frame
from muster_audit.parts import Json, part
from muster_plan import ClusterNode, NodeGroup, ShapeMismatch, Snapshot, compare_shape
from muster_types import ObjectKey

_COMPARED = 64
"""Nodes of one group that are compared with its template."""


def says_nothing(group: NodeGroup) -> bool:
    """Whether the template names no device: nobody said what a node of the group will publish."""
    return not group.template.slices


@dataclass(frozen=True, slots=True)
class Learned:
    """A group by what its nodes show. `obj` is the group with the slices of `node` in its template, None where its
    nodes publish nothing. `broken` are the promises of the template that no node of the group keeps."""

    node: str
    obj: Json | None
    broken: tuple[str, ...] = ()


def learned_groups(snapshot: Snapshot, frame: Frame) -> Mapping[str, Learned]:
    """Groups that have ready nodes and no device template, or one that all nodes whose pools are whole contradict.

    The first node by name that publishes stands for the next one. A node that still lacks pools says nothing yet.
    """
    groups = [snapshot.tables.groups[key] for key in sorted(snapshot.tables.groups)]
    if not groups:
        return {}
    published: dict[str, list[ObjectKey]] = {}
    for key in sorted(snapshot.tables.slices):
        published.setdefault(snapshot.tables.slices[key].place.node_name, []).append(key)
    nodes = [node for key in sorted(snapshot.tables.nodes) if (node := snapshot.tables.nodes[key]).ready]
    found: dict[str, Learned] = {}
    for group in groups:
        own = [node for node in nodes if group.has(node.labels)]
        shown, broken = _shown(group, own, published, snapshot)
        if not own or (not says_nothing(group) and shown is None):
            continue
        given = frame.objects.get(ObjectKey("NodeGroup", "", group.name))
        slices = [frame.objects[key] for key in published.get(shown.name, ())] if shown is not None else []
        obj = _with_slices(given, slices) if slices and given is not None else None
        if obj is not None and not group.domain_label:
            obj = {**obj, "spec": {name: value for name, value in part(obj, "spec").items() if name != "domainLabel"}}
        found[group.name] = Learned((shown or own[0]).name, obj, broken)
    return found


def _shown(
    group: NodeGroup, own: Sequence[ClusterNode], published: Mapping[str, list[ObjectKey]], snapshot: Snapshot
) -> tuple[ClusterNode | None, tuple[str, ...]]:
    """The node to learn from, and what it says against the template; None: nothing to learn."""
    if says_nothing(group):
        return next((node for node in own if published.get(node.name)), None), ()
    first: tuple[ClusterNode, tuple[str, ...]] | None = None
    for node in own[:_COMPARED]:
        slices = [snapshot.tables.slices[key] for key in published.get(node.name, ())]
        mismatches = compare_shape(group.template, node, slices, domain_label=group.domain_label)
        if any(each.check == "C1" for each in mismatches):
            continue  # pools are missing: its drivers are still at work
        telling = tuple(each.sentence for each in mismatches if tells(each))
        if not telling:
            return None, ()
        first = first or (node, telling)
    return first if first is not None else (None, ())


def tells(mismatch: ShapeMismatch) -> bool:
    """Whether a mismatch is one of devices: their number, what they are, how much they hold, what they share.

    A device's own serial number is never that of the template; labels and taints are no shape.
    """
    if mismatch.check == "C3":
        return not names_hardware(mismatch.expected.partition(": ")[2].partition("=")[0])
    return mismatch.check in ("C2", "C5", "C6")


def _with_slices(group: Json, slices: list[Json]) -> Json:
    spec = part(group, "spec")
    specs = [{name: value for name, value in part(each, "spec").items() if name != "nodeName"} for each in slices]
    return {**group, "spec": {**spec, "template": {**part(spec, "template"), "resourceSlices": specs}}}
