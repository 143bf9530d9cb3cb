"""Node groups and the template of their next node (muster.dev/v1alpha1, architecture §8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from muster_plan.labels import LabelSelector, read_label_selector
from muster_plan.nodes import Taint, read_taints
from muster_plan.pods import PodSpec, read_pod_spec
from muster_plan.reading import open_object
from muster_types import Nano, NodeGroupName


@dataclass(frozen=True, slots=True)
class AttributeBinding:
    """These devices will share a value of the attribute; nobody knows it before the node boots."""

    attribute: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DaemonPod:
    """A pod that every new node of the group runs."""

    name: str
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """What a new node would bring. `slices` is None when nobody said what it will publish: it counts as no device."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Mapping[str, Nano]
    slices: tuple[Mapping[str, object], ...] | None
    daemon_pods: tuple[DaemonPod, ...]
    bindings: tuple[AttributeBinding, ...]
    unique_attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are resized as one. `unit` nodes can only be added together; the price is per node."""

    name: NodeGroupName
    min_size: int
    max_size: int
    current_size: int
    price: Fraction
    unit: int
    domain_label: str
    zero_or_max: bool
    selector: LabelSelector | None
    driver: str
    template: NodeTemplate

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels is one of the group (architecture §8): by its selector, else by all labels
        of the template but the domain's, of which every unit brings its own value."""
        if self.selector is not None:
            return self.selector.matches(labels)
        own = {key: value for key, value in self.template.labels.items() if key != self.domain_label}
        return bool(own) and own.items() <= labels.items()

    @property
    def room(self) -> int:
        """Nodes that can still be added: whole units only, all or none for a zero-or-max group."""
        free = max(self.max_size - self.current_size, 0)
        return free - free % self.step

    @property
    def step(self) -> int:
        """The least number of nodes an order can have."""
        if self.zero_or_max:
            return max(self.max_size - self.current_size, 1)
        return self.unit


def parse_node_group(obj: Mapping[str, object]) -> NodeGroup:
    """A muster.dev NodeGroup. Raises InvalidObject."""
    group = open_object(obj, "NodeGroup", namespaced=False)
    spec = group.at("spec")
    template = spec.at("template")
    labels = template.at("metadata").texts("labels")
    if spec.count("minSize", 0) > spec.count("maxSize"):
        raise spec.fault("minSize", f"want at most maxSize {spec.count('maxSize')}, got {spec.count('minSize', 0)}")
    slices = tuple(each.body for each in template.each("resourceSlices")) if template.has("resourceSlices") else None
    return NodeGroup(
        name=NodeGroupName(group.name),
        min_size=spec.count("minSize", 0),
        max_size=spec.count("maxSize"),
        current_size=spec.count("currentSize", 0),
        price=Fraction(str(spec.number("pricePerNode", 0))),
        unit=spec.count("atomicUnit", 1, least=1),
        domain_label=spec.text("domainLabel", ""),
        zero_or_max=spec.flag("zeroOrMax"),
        selector=read_label_selector(spec.at("selector")) if spec.has("selector") else None,
        driver=spec.at("driver").text("type", "simulated"),
        template=NodeTemplate(
            labels=labels,
            taints=read_taints(template.at("spec")),
            allocatable=template.at("status").quantities("allocatable"),
            slices=slices,
            daemon_pods=tuple(
                DaemonPod(
                    pod.at("metadata").text("name", f"daemon-{index}"),
                    read_pod_spec(
                        pod.at("metadata"), pod.at("spec"), pod.at("metadata").text("namespace", "") or "default"
                    ),
                )
                for index, pod in enumerate(template.each("daemonPods"))
            ),
            bindings=tuple(
                AttributeBinding(each.text("attribute"), each.strings("devices"))
                for each in template.each("attributeBindings")
            ),
            unique_attributes=template.strings("uniqueAttributes"),
        ),
    )
