"""ProvisioningRequest, PodGroup, Workload, NodeGroup (group-capacity §1.2, §3.3, §3.4; architecture §8)."""

from collections.abc import Mapping

from muster_kube.core_rules import check_claim_references, check_node_spec, check_node_status, check_pod_spec
from muster_kube.faults import Faults, check_labels, numbered
from muster_kube.names import dns_subdomain, label_key, qualified_name
from muster_kube.parts import mapping, sequence, text, whole
from muster_kube.selector_rules import check_label_selector
from muster_kube.slice_rules import check_slice_spec, slice_devices


def check_provisioning_request(faults: Faults, obj: Mapping[str, object]) -> None:
    """Limits of the CRD (group-capacity §1.2, §1.3)."""
    spec = mapping(obj.get("spec"))
    faults.name("spec.provisioningClassName", spec.get("provisioningClassName"), dns_subdomain)
    pod_sets = sequence(spec.get("podSets"))
    if not pod_sets:
        faults.add("spec.podSets", "there is none; write 1 to 32 pod sets")
    faults.at_most("spec.podSets", pod_sets, 32)
    for at, pod_set in numbered(pod_sets, "spec.podSets"):
        faults.name(f"{at}.podTemplateRef.name", mapping(pod_set.get("podTemplateRef")).get("name"), dns_subdomain)
        if not 1 <= whole(pod_set.get("count")) < 2**31:
            faults.add(f"{at}.count", "it is not above 0; write how many pods the set has")
    parameters = mapping(spec.get("parameters"))
    faults.at_most("spec.parameters", parameters, 100)
    for key, value in parameters.items():
        if len(text(value)) > 255:
            faults.add(f"spec.parameters[{key[:80]}]", "it is longer than 255 characters; shorten it")


def check_pod_group(faults: Faults, obj: Mapping[str, object]) -> None:
    """A pod group, or one in a workload's template."""
    check_pod_group_spec(faults, "spec", mapping(obj.get("spec")))


def check_workload(faults: Faults, obj: Mapping[str, object]) -> None:
    """A workload: at most eight templates of pod groups."""
    spec = mapping(obj.get("spec"))
    templates = sequence(spec.get("podGroupTemplates"))
    faults.at_most("spec.podGroupTemplates", templates, 8)
    for at, template in numbered(templates, "spec.podGroupTemplates"):
        check_pod_group_spec(faults, at, template)


def check_pod_group_spec(faults: Faults, field: str, spec: Mapping[str, object]) -> None:
    """Scheduling policy, topology, claims."""
    policy = mapping(spec.get("schedulingPolicy"))
    named = [name for name in ("basic", "gang") if policy.get(name) is not None]
    if len(named) != 1:
        faults.add(f"{field}.schedulingPolicy", "exactly one of basic and gang must be set; write one")
    if "gang" in named and whole(mapping(policy.get("gang")).get("minCount")) < 1:
        faults.add(f"{field}.schedulingPolicy.gang.minCount", "it is not above 0; write how many pods run together")
    topology = sequence(mapping(spec.get("schedulingConstraints")).get("topology"))
    faults.at_most(f"{field}.schedulingConstraints.topology", topology, 1)
    for at, each in numbered(topology, f"{field}.schedulingConstraints.topology"):
        faults.name(f"{at}.key", each.get("key"), label_key)
    check_claim_references(faults, f"{field}.resourceClaims", spec.get("resourceClaims"), 4)


def check_node_group(faults: Faults, obj: Mapping[str, object]) -> None:
    """Sizes, price, and a template whose slices the API server would take."""
    spec = mapping(obj.get("spec"))
    least, most = whole(spec.get("minSize")), whole(spec.get("maxSize"))
    if spec.get("maxSize") is None:
        faults.add("spec.maxSize", "it is missing; write how many nodes the group may have")
    elif not 0 <= least <= most:
        faults.add("spec.maxSize", f"minSize {least} and maxSize {most} must be 0 <= minSize <= maxSize; correct them")
    if whole(spec.get("currentSize")) < 0:
        faults.add("spec.currentSize", "it is negative; write how many nodes the group has")
    if whole(spec.get("atomicUnit"), 1) < 1:
        faults.add("spec.atomicUnit", "it is not above 0; write how many nodes come together, or remove it")
    price = spec.get("pricePerNode")
    if isinstance(price, int | float) and price < 0:
        faults.add("spec.pricePerNode", "it is negative; write a price from 0 up")
    faults.optional_name("spec.domainLabel", spec.get("domainLabel"), label_key)
    check_label_selector(faults, "spec.selector", spec.get("selector"))
    _check_template(faults, "spec.template", mapping(spec.get("template")))


def _check_template(faults: Faults, field: str, template: Mapping[str, object]) -> None:
    check_labels(faults, f"{field}.metadata.labels", mapping(template.get("metadata")).get("labels"))
    check_node_spec(faults, f"{field}.spec", mapping(template.get("spec")))
    check_node_status(faults, f"{field}.status", mapping(template.get("status")))
    devices: set[str] = set()
    for at, each in numbered(template.get("resourceSlices"), f"{field}.resourceSlices"):
        check_slice_spec(faults, at, each)
        devices |= slice_devices(each)
    for at, pod in numbered(template.get("daemonPods"), f"{field}.daemonPods"):
        check_pod_spec(faults, f"{at}.spec", mapping(pod.get("spec")))
    for at, binding in numbered(template.get("attributeBindings"), f"{field}.attributeBindings"):
        faults.name(f"{at}.attribute", binding.get("attribute"), qualified_name)
        for index, name in enumerate(sequence(binding.get("devices"))):
            if text(name) not in devices:
                faults.add(f"{at}.devices[{index}]", f"the template has no device {text(name)!r}; correct it")
    for index, name in enumerate(sequence(template.get("uniqueAttributes"))):
        faults.name(f"{field}.uniqueAttributes[{index}]", name, qualified_name)
