"""Whether an object is one that an API server would have stored, and what is odd about it."""

from collections.abc import Callable, Mapping

from muster_kube.claim_rules import check_claim, check_claim_template, check_class, check_taint_rule
from muster_kube.core_rules import check_node, check_pod, check_pod_template
from muster_kube.faults import Faults, check_metadata
from muster_kube.fields import check_fields
from muster_kube.group_rules import check_node_group, check_pod_group, check_provisioning_request, check_workload
from muster_kube.kinds import UnknownVersion, kind_of
from muster_kube.parts import mapping, text
from muster_kube.readings import Problem
from muster_kube.slice_rules import check_slice

_RULES: Mapping[str, Callable[[Faults, Mapping[str, object]], None]] = {
    "Node": check_node,
    "Pod": check_pod,
    "PodTemplate": check_pod_template,
    "ResourceSlice": check_slice,
    "ResourceClaim": check_claim,
    "ResourceClaimTemplate": check_claim_template,
    "DeviceClass": check_class,
    "DeviceTaintRule": check_taint_rule,
    "ProvisioningRequest": check_provisioning_request,
    "PodGroup": check_pod_group,
    "Workload": check_workload,
    "NodeGroup": check_node_group,
}
_SPECLESS = frozenset(("Node", "PodTemplate"))


def validate(obj: Mapping[str, object]) -> list[Problem]:
    """Problems of an object of a kind that Muster reads, in the order found; no ERROR among them: it is sound.

    Unknown fields are warnings. The rules are those of dra-semantics §1 and group-capacity §1 to §3.
    """
    kind = kind_of(text(obj.get("apiVersion")), text(obj.get("kind")))
    if isinstance(kind, UnknownVersion):
        return [Problem("apiVersion", kind.reason)]
    if kind is None:
        return [Problem("kind", f"Muster does not read {text(obj.get('kind'))!r} of {text(obj.get('apiVersion'))!r}")]
    found = check_fields(obj, text(obj.get("apiVersion")), kind.name)
    if not found.typed:
        return found.problems  # the rules below take the types as given
    faults = Faults()
    check_metadata(faults, "metadata", mapping(obj.get("metadata")))
    if kind.name not in _SPECLESS and not isinstance(obj.get("spec"), dict):
        faults.add("spec", "it is missing; write it")
    else:
        _RULES[kind.name](faults, obj)
    return [*found.problems, *faults.problems]
