"""The objects of a cluster by name, parsed; a changed table is copied, the others are shared."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from muster_dra import (
    DeviceClass,
    DeviceTaintRule,
    InvalidObject,
    ResourceClaim,
    ResourceSlice,
    parse_class,
    parse_slice,
    parse_taint_rule,
)
from muster_plan.claims import ClaimTemplate, read_claim, read_claim_template
from muster_plan.node_groups import NodeGroup, parse_node_group
from muster_plan.nodes import ClusterNode, parse_cluster_node
from muster_plan.pod_groups import PodGroup, parse_pod_group
from muster_plan.pods import Pod, PodTemplate, parse_pod, parse_pod_template
from muster_types import ObjectKey

_Value = TypeVar("_Value")

Found = (
    ClusterNode
    | ResourceSlice
    | DeviceClass
    | DeviceTaintRule
    | NodeGroup
    | ResourceClaim
    | Pod
    | PodGroup
    | ClaimTemplate
    | PodTemplate
)

_PARSERS: Mapping[str, Callable[[Mapping[str, object]], Found]] = {
    "Node": parse_cluster_node,
    "ResourceSlice": parse_slice,
    "DeviceClass": parse_class,
    "DeviceTaintRule": parse_taint_rule,
    "NodeGroup": parse_node_group,
    "ResourceClaim": read_claim,
    "Pod": parse_pod,
    "PodGroup": parse_pod_group,
    "ResourceClaimTemplate": read_claim_template,
    "PodTemplate": parse_pod_template,
}

KINDS = frozenset(_PARSERS)
"""The kinds that a snapshot holds; objects of other kinds are passed over."""

_NAMESPACED = frozenset({"Pod", "PodTemplate", "PodGroup", "ResourceClaim", "ResourceClaimTemplate"})

Changes = dict[str, dict[ObjectKey, Found | None]]
"""By kind: what an object has become, None when it is gone."""


@dataclass(frozen=True, slots=True)
class Tables:
    nodes: Mapping[ObjectKey, ClusterNode] = field(default_factory=dict[ObjectKey, ClusterNode])
    slices: Mapping[ObjectKey, ResourceSlice] = field(default_factory=dict[ObjectKey, ResourceSlice])
    classes: Mapping[ObjectKey, DeviceClass] = field(default_factory=dict[ObjectKey, DeviceClass])
    taint_rules: Mapping[ObjectKey, DeviceTaintRule] = field(default_factory=dict[ObjectKey, DeviceTaintRule])
    groups: Mapping[ObjectKey, NodeGroup] = field(default_factory=dict[ObjectKey, NodeGroup])
    claims: Mapping[ObjectKey, ResourceClaim] = field(default_factory=dict[ObjectKey, ResourceClaim])
    pods: Mapping[ObjectKey, Pod] = field(default_factory=dict[ObjectKey, Pod])
    pod_groups: Mapping[ObjectKey, PodGroup] = field(default_factory=dict[ObjectKey, PodGroup])
    claim_templates: Mapping[ObjectKey, ClaimTemplate] = field(default_factory=dict[ObjectKey, ClaimTemplate])
    pod_templates: Mapping[ObjectKey, PodTemplate] = field(default_factory=dict[ObjectKey, PodTemplate])

    def changed(self, changes: Changes) -> "Tables":
        return replace(
            self,
            nodes=_merge(self.nodes, changes.get("Node"), ClusterNode),
            slices=_merge(self.slices, changes.get("ResourceSlice"), ResourceSlice),
            classes=_merge(self.classes, changes.get("DeviceClass"), DeviceClass),
            taint_rules=_merge(self.taint_rules, changes.get("DeviceTaintRule"), DeviceTaintRule),
            groups=_merge(self.groups, changes.get("NodeGroup"), NodeGroup),
            claims=_merge(self.claims, changes.get("ResourceClaim"), ResourceClaim),
            pods=_merge(self.pods, changes.get("Pod"), Pod),
            pod_groups=_merge(self.pod_groups, changes.get("PodGroup"), PodGroup),
            claim_templates=_merge(self.claim_templates, changes.get("ResourceClaimTemplate"), ClaimTemplate),
            pod_templates=_merge(self.pod_templates, changes.get("PodTemplate"), PodTemplate),
        )


def read_changes(
    put: Iterable[Mapping[str, object]], gone: Iterable[ObjectKey]
) -> tuple[Changes, Mapping[ObjectKey, InvalidObject]]:
    """Parses objects: the changes, and what could not be read. Among objects of one key the last one counts."""
    changes: Changes = {}
    problems: dict[ObjectKey, InvalidObject] = {}
    for key in gone:
        if key.kind in _PARSERS:
            changes.setdefault(key.kind, {})[key] = None
    for obj in put:
        kind = obj.get("kind")
        parse = _PARSERS.get(kind) if isinstance(kind, str) else None
        if parse is None or not isinstance(kind, str):
            continue
        try:
            found = parse(obj)
        except InvalidObject as problem:
            problems[ObjectKey(kind, problem.namespace, problem.name)] = problem
            continue
        changes.setdefault(kind, {})[key_of(obj)] = found
    return changes, problems


def key_of(obj: Mapping[str, object]) -> ObjectKey:
    """The key of an object that parsed: its namespace is "default" where a namespaced one says nothing."""
    kind, metadata = obj.get("kind"), obj.get("metadata")
    if not isinstance(kind, str) or not isinstance(metadata, Mapping):
        raise InvalidObject("", "", "", "kind", "kind and metadata are required")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    where = (str(namespace) if namespace else "default") if kind in _NAMESPACED else ""
    return ObjectKey(kind, where, str(name))


def _merge(
    before: Mapping[ObjectKey, _Value], changes: Mapping[ObjectKey, Found | None] | None, kind: type[_Value]
) -> Mapping[ObjectKey, _Value]:
    if not changes:
        return before
    after = dict(before)
    for key, found in changes.items():
        if isinstance(found, kind):
            after[key] = found
        else:
            after.pop(key, None)
    return after
