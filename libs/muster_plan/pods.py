"""Pods and pod templates, reduced to what decides where a pod can run (core/v1 Pod, PodTemplate)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_plan.labels import LabelSelector, NodeSelector, read_label_selector, read_node_selector
from muster_plan.nodes import Toleration, read_tolerations
from muster_plan.reading import Reader, open_object
from muster_types import Nano, NodeName

PODS = "pods"


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """`spec.resourceClaims[]` of a pod or PodGroup: a named claim or a template, in the object's namespace."""

    name: str
    claim: str
    template: str


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A required pod (anti-)affinity term. `namespaces` is empty for "the pod's own"; `everywhere`: all of them."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...]
    everywhere: bool

    def selects(self, labels: Mapping[str, str], namespace: str, own_namespace: str) -> bool:
        """A missing selector matches no pod."""
        if self.selector is None:
            return False
        if not self.everywhere and namespace not in (self.namespaces or (own_namespace,)):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """A `DoNotSchedule` topology spread constraint; `honor_*` are nodeAffinityPolicy and nodeTaintsPolicy."""

    topology_key: str
    max_skew: int
    min_domains: int
    selector: LabelSelector | None
    honor_affinity: bool
    honor_taints: bool

    def selects(self, labels: Mapping[str, str]) -> bool:
        return self.selector is not None and self.selector.matches(labels)


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    protocol: str
    address: str
    port: int

    def collides(self, other: "HostPort") -> bool:
        if self.protocol != other.protocol or self.port != other.port:
            return False
        return self.address == other.address or "0.0.0.0" in (self.address, other.address)  # noqa: S104 - the API's any


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod asks of a node. `requests` is the effective request (KEP-753), overhead included, zeros left out."""

    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requests: Mapping[str, Nano]
    containers: tuple["ContainerNeeds", ...]
    node_selector: Mapping[str, str]
    affinity: NodeSelector | None
    tolerations: tuple[Toleration, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    pod_affinity: tuple[AffinityTerm, ...]
    spread: tuple[Spread, ...]
    host_ports: tuple[HostPort, ...]
    claims: tuple[ClaimEntry, ...]
    pod_group: str
    priority: int

    def accepts_labels(self, labels: Mapping[str, str], name: str | None) -> bool:
        """Node selector and required node affinity; `name` is None for a node that does not exist yet."""
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return False
        return self.affinity is None or self.affinity.matches(labels, name)


class ContainerRole(Enum):
    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


@dataclass(frozen=True, slots=True)
class ContainerNeeds:
    """One container in pod order (init containers first)."""

    name: str
    role: ContainerRole
    requests: Mapping[str, Nano]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of the cluster. `node` is empty while it is not bound; a finished pod holds nothing."""

    namespace: str
    name: str
    spec: PodSpec
    node: NodeName
    finished: bool
    terminating: bool
    owner: str
    claim_names: Mapping[str, str]  # status.resourceClaimStatuses: entry -> claim


@dataclass(frozen=True, slots=True)
class PodTemplate:
    namespace: str
    name: str
    spec: PodSpec


def parse_pod(obj: Mapping[str, object]) -> Pod:
    """A core/v1 Pod. Raises InvalidObject."""
    pod = open_object(obj, "Pod", namespaced=True)
    meta, spec, status = pod.at("metadata"), pod.at("spec"), pod.at("status")
    owners = [owner for owner in meta.each("ownerReferences") if owner.flag("controller")]
    return Pod(
        namespace=pod.namespace,
        name=pod.name,
        spec=read_pod_spec(meta, spec, pod.namespace),
        node=NodeName(spec.text("nodeName", "")),
        finished=status.text("phase", "") in ("Succeeded", "Failed"),
        terminating=meta.has("deletionTimestamp"),
        owner=f"{owners[0].text('kind', '')}/{owners[0].text('name', '')}" if owners else "",
        claim_names={
            each.text("name"): each.text("resourceClaimName", "") for each in status.each("resourceClaimStatuses")
        },
    )


def parse_pod_template(obj: Mapping[str, object]) -> PodTemplate:
    """A core/v1 PodTemplate. Raises InvalidObject."""
    template = open_object(obj, "PodTemplate", namespaced=True)
    inner = template.at("template")
    spec = read_pod_spec(inner.at("metadata"), inner.at("spec"), template.namespace)
    return PodTemplate(template.namespace, template.name, spec)


def read_pod_spec(meta: Reader, spec: Reader, namespace: str) -> PodSpec:
    containers = _read_containers(spec)
    affinity = spec.at("affinity")
    required = affinity.at("nodeAffinity").at("requiredDuringSchedulingIgnoredDuringExecution")
    group = spec.at("schedulingGroup").text("podGroupName", "")
    return PodSpec(
        namespace=namespace,
        labels=meta.texts("labels"),
        annotations=meta.texts("annotations"),
        requests=_effective(containers, spec),
        containers=containers,
        node_selector=spec.texts("nodeSelector"),
        affinity=read_node_selector(required) if required.body else None,
        tolerations=read_tolerations(spec),
        anti_affinity=_read_terms(affinity.at("podAntiAffinity")),
        pod_affinity=_read_terms(affinity.at("podAffinity")),
        spread=_read_spread(spec),
        host_ports=_read_ports(spec),
        claims=read_claim_entries(spec),
        pod_group=group,
        priority=spec.count("priority", 0, least=-(2**31)),
    )


def read_claim_entries(spec: Reader) -> tuple[ClaimEntry, ...]:
    found: list[ClaimEntry] = []
    for each in spec.each("resourceClaims"):
        claim, template = each.text("resourceClaimName", ""), each.text("resourceClaimTemplateName", "")
        if bool(claim) == bool(template):
            raise each.fault("resourceClaimName", "want exactly one of resourceClaimName and resourceClaimTemplateName")
        name = each.text("name")
        if any(entry.name == name for entry in found):
            raise each.fault("name", f"{name!r} occurs twice")
        found.append(ClaimEntry(name, claim, template))
    return tuple(found)


def _read_containers(spec: Reader) -> tuple[ContainerNeeds, ...]:
    found: list[ContainerNeeds] = []
    for each in spec.each("initContainers"):
        sidecar = each.text("restartPolicy", "") == "Always"
        role = ContainerRole.SIDECAR if sidecar else ContainerRole.INIT
        found.append(ContainerNeeds(each.text("name", ""), role, _read_requests(each)))
    for each in spec.each("containers"):
        found.append(ContainerNeeds(each.text("name", ""), ContainerRole.APP, _read_requests(each)))
    return tuple(found)


def _read_requests(container: Reader) -> Mapping[str, Nano]:
    """The API server copies a limit without request to the request; a raw manifest has not seen it yet."""
    resources = container.at("resources")
    return {**resources.quantities("limits"), **resources.quantities("requests")}


def _effective(containers: tuple[ContainerNeeds, ...], spec: Reader) -> Mapping[str, Nano]:
    """max(app containers + all sidecars, each init container + the sidecars before it) + overhead."""
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in containers:
        for resource, amount in container.requests.items():
            if container.role is ContainerRole.INIT:
                peak[resource] = max(peak.get(resource, 0), running.get(resource, 0) + amount)
            else:
                running[resource] = running.get(resource, 0) + amount
    total = {resource: max(running.get(resource, 0), peak.get(resource, 0)) for resource in {**running, **peak}}
    own = spec.at("resources")  # pod-level resources (KEP-2837) stand for the sum of the containers
    for resource, amount in {**own.quantities("limits"), **own.quantities("requests")}.items():
        total[resource] = amount
    for resource, amount in spec.quantities("overhead").items():
        total[resource] = total.get(resource, 0) + amount
    return {resource: Nano(total[resource]) for resource in sorted(total) if total[resource] > 0}


def _read_terms(reader: Reader) -> tuple[AffinityTerm, ...]:
    found: list[AffinityTerm] = []
    for each in reader.each("requiredDuringSchedulingIgnoredDuringExecution"):
        selector = read_label_selector(each.at("labelSelector")) if each.has("labelSelector") else None
        everywhere = each.has("namespaceSelector")
        found.append(AffinityTerm(each.text("topologyKey"), selector, each.strings("namespaces"), everywhere))
    return tuple(found)


def _read_spread(spec: Reader) -> tuple[Spread, ...]:
    found: list[Spread] = []
    for each in spec.each("topologySpreadConstraints"):
        if each.text("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        found.append(
            Spread(
                topology_key=each.text("topologyKey"),
                max_skew=each.count("maxSkew", 1, least=1),
                min_domains=each.count("minDomains", 1, least=1),
                selector=read_label_selector(each.at("labelSelector")) if each.has("labelSelector") else None,
                honor_affinity=each.text("nodeAffinityPolicy", "Honor") == "Honor",
                honor_taints=each.text("nodeTaintsPolicy", "Ignore") == "Honor",
            )
        )
    return tuple(found)


def _read_ports(spec: Reader) -> tuple[HostPort, ...]:
    found: set[HostPort] = set()
    for container in (*spec.each("initContainers"), *spec.each("containers")):
        for port in container.each("ports"):
            number = port.count("hostPort", 0)
            if spec.flag("hostNetwork"):
                number = number or port.count("containerPort", 0)
            if number:
                address = port.text("hostIP", "") or "0.0.0.0"  # noqa: S104 - the API's word for any address
                found.add(HostPort(port.text("protocol", "TCP"), address, number))
    return tuple(sorted(found))
