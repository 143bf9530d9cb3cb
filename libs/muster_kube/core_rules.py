"""Node, Pod, PodTemplate: the parts that Muster reads of them."""

from collections.abc import Mapping

from muster_kube.faults import Faults, check_labels, check_metadata, given, numbered
from muster_kube.names import dns_label, dns_subdomain, label_key
from muster_kube.parts import amount, mapping, sequence, text, whole
from muster_kube.selector_rules import (
    check_label_selector,
    check_node_selector,
    check_node_taint,
    check_node_term,
    check_toleration,
)

_CONDITION_STATES = ("True", "False", "Unknown")


def check_node(faults: Faults, obj: Mapping[str, object]) -> None:
    """Taints, allocatable, conditions."""
    check_node_spec(faults, "spec", mapping(obj.get("spec")))
    check_node_status(faults, "status", mapping(obj.get("status")))


def check_node_spec(faults: Faults, field: str, spec: Mapping[str, object]) -> None:
    """Taints of a node, or of a template."""
    for at, taint in numbered(spec.get("taints"), f"{field}.taints"):
        check_node_taint(faults, at, taint)


def check_node_status(faults: Faults, field: str, status: Mapping[str, object]) -> None:
    """Allocatable of a node, or of a template; conditions."""
    for name, room in mapping(status.get("allocatable")).items():
        _check_amount(faults, f"{field}.allocatable[{name}]", name, room)
    for at, condition in numbered(status.get("conditions"), f"{field}.conditions"):
        faults.one_of(f"{at}.status", text(condition.get("status")), _CONDITION_STATES)


def check_pod(faults: Faults, obj: Mapping[str, object]) -> None:
    """A pod's spec, and the claims of its status."""
    check_pod_spec(faults, "spec", mapping(obj.get("spec")))
    for at, status in numbered(mapping(obj.get("status")).get("resourceClaimStatuses"), "status.resourceClaimStatuses"):
        faults.name(f"{at}.name", status.get("name"), dns_label)


def check_pod_template(faults: Faults, obj: Mapping[str, object]) -> None:
    """The pod inside a PodTemplate."""
    template = mapping(obj.get("template"))
    check_metadata(faults, "template.metadata", mapping(template.get("metadata")), named=False)
    if not given(template.get("spec")):
        faults.add("template.spec", "it is missing; write the pod's spec")
        return
    check_pod_spec(faults, "template.spec", mapping(template.get("spec")))


def check_pod_spec(faults: Faults, field: str, spec: Mapping[str, object]) -> None:
    """What scheduling reads: containers' resources and claims, selectors, affinity, tolerations, spread."""
    containers = sequence(spec.get("containers"))
    if not containers:
        faults.add(f"{field}.containers", "there is none; write at least one container")
    _check_claims(faults, field, spec)
    names = {text(mapping(each).get("name")) for each in sequence(spec.get("resourceClaims"))}
    for list_name in ("containers", "initContainers"):
        for at, container in numbered(spec.get(list_name), f"{field}.{list_name}"):
            _check_container(faults, at, container, names)
    for name, extra in mapping(spec.get("overhead")).items():
        _check_amount(faults, f"{field}.overhead[{name}]", name, extra)
    check_labels(faults, f"{field}.nodeSelector", spec.get("nodeSelector"))
    for at, toleration in numbered(spec.get("tolerations"), f"{field}.tolerations"):
        check_toleration(faults, at, toleration)
    _check_affinity(faults, f"{field}.affinity", mapping(spec.get("affinity")))
    for at, spread in numbered(spec.get("topologySpreadConstraints"), f"{field}.topologySpreadConstraints"):
        faults.name(f"{at}.topologyKey", spread.get("topologyKey"), label_key)
        if whole(spread.get("maxSkew")) < 1:
            faults.add(f"{at}.maxSkew", "it is not above 0; write how uneven the spread may be")
        faults.one_of(
            f"{at}.whenUnsatisfiable", text(spread.get("whenUnsatisfiable")), ("DoNotSchedule", "ScheduleAnyway")
        )
        check_label_selector(faults, f"{at}.labelSelector", spread.get("labelSelector"))
    group = mapping(spec.get("schedulingGroup"))
    faults.optional_name(f"{field}.schedulingGroup.podGroupName", group.get("podGroupName"), dns_subdomain)


def check_claim_references(faults: Faults, field: str, claims: object, most: int | None = None) -> None:
    """Entries {name, resourceClaimName xor resourceClaimTemplateName} of a pod or of a pod group."""
    entries = sequence(claims)
    if most is not None:
        faults.at_most(field, entries, most)
    for at, entry in numbered(entries, field):
        faults.name(f"{at}.name", entry.get("name"), dns_label)
        named, template = entry.get("resourceClaimName"), entry.get("resourceClaimTemplateName")
        if given(named) == given(template):
            faults.add(at, "exactly one of resourceClaimName and resourceClaimTemplateName must be set; keep one")
        faults.optional_name(f"{at}.resourceClaimName", named, dns_subdomain)
        faults.optional_name(f"{at}.resourceClaimTemplateName", template, dns_subdomain)
    faults.unique(field, (text(mapping(each).get("name")) for each in entries), "claim")


def _check_claims(faults: Faults, field: str, spec: Mapping[str, object]) -> None:
    check_claim_references(faults, f"{field}.resourceClaims", spec.get("resourceClaims"))


def _check_container(faults: Faults, field: str, container: Mapping[str, object], claims: set[str]) -> None:
    faults.name(f"{field}.name", container.get("name"), dns_label)
    resources = mapping(container.get("resources"))
    limits = mapping(resources.get("limits"))
    for name, wanted in mapping(resources.get("requests")).items():
        _check_amount(faults, f"{field}.resources.requests[{name}]", name, wanted)
        least, most = amount(wanted), amount(limits.get(name))
        if least is not None and most is not None and most < least:
            faults.add(f"{field}.resources.requests[{name}]", f"{wanted} is above the limit {limits[name]}; lower it")
    for name, limit in limits.items():
        _check_amount(faults, f"{field}.resources.limits[{name}]", name, limit)
    for at, claim in numbered(resources.get("claims"), f"{field}.resources.claims"):
        name = text(claim.get("name"))
        if name not in claims:
            faults.add(f"{at}.name", f"the pod has no resource claim {name!r}; add it to resourceClaims")


def _check_affinity(faults: Faults, field: str, affinity: Mapping[str, object]) -> None:
    node = mapping(affinity.get("nodeAffinity"))
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if given(node.get(required)):
        check_node_selector(faults, f"{field}.nodeAffinity.{required}", node.get(required))
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    for at, term in numbered(node.get(preferred), f"{field}.nodeAffinity.{preferred}"):
        check_node_term(faults, f"{at}.preference", mapping(term.get("preference")))
    for name in ("podAffinity", "podAntiAffinity"):
        for at, term in numbered(mapping(affinity.get(name)).get(required), f"{field}.{name}.{required}"):
            faults.name(f"{at}.topologyKey", term.get("topologyKey"), label_key)
            check_label_selector(faults, f"{at}.labelSelector", term.get("labelSelector"))


def _check_amount(faults: Faults, field: str, name: str, written: object) -> None:
    if reason := label_key(name):
        faults.add(field, reason)
    value = amount(written)
    if value is not None and value < 0:
        faults.add(field, f"{written} is negative; write an amount from 0 up")
