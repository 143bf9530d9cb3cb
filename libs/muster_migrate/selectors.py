"""Conditions on product labels of nodes, as CEL on what devices publish (labels: gpu-feature-discovery, AMD node
labeller, GKE, Karpenter; attributes: dra-semantics §1.15 and the drivers' documentation).

A condition is turned only where a rule is documented, or the dump shows that the label and the attribute say the same
on every node. All else stays a condition on nodes, with the reason.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muster_migrate.catalogue import AMD, NVIDIA, SRIOV, TPU, Query, attribute, quoted
from muster_migrate.evidence import Evidence, Published
from muster_migrate.remarks import Cause

_INTEGER = re.compile(r"\d+")
_MOST_NAMES = 8
_GKE = "cloud.google.com/"
_PARTITION = re.compile(r"-MIG-(?P<profile>\d+g\.\d+gb\S*)$")


@dataclass(frozen=True, slots=True)
class Condition:
    """One requirement on a node label (core/v1 NodeSelectorRequirement; an entry of nodeSelector is `In` one value)."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, value: str | None) -> bool:
        """As the scheduler judges a node whose label has this value, None when it has none."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                if value is None or not _INTEGER.fullmatch(value) or not _INTEGER.fullmatch(self.values[0]):
                    return False
                return int(value) > int(self.values[0]) if self.operator == "Gt" else int(value) < int(self.values[0])
            case _:
                return False

    def __str__(self) -> str:
        if self.operator == "In" and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} {','.join(self.values)}".strip()


@dataclass(frozen=True, slots=True)
class Turned:
    """The condition as CEL; "" where every device of the claim meets it anyway."""

    expression: str
    why: str


@dataclass(frozen=True, slots=True)
class Stays:
    """The condition stays on the node."""

    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """`driver` publishes what the label says. `equal` gives CEL for one value, `bound` for Gt and Lt."""

    driver: str
    equal: Callable[[str, Sequence[str]], str | None]
    why: str
    bound: Callable[[str, int], str] | None = None
    attribute: str = ""


def is_product_label(key: str) -> bool:
    """Whether a label says something about accelerators (or, for instance types, implies it)."""
    return key in _RULES or key in _FACTS or key in _SHOWN or key.startswith(_PREFIXES)


def label_driver(key: str) -> str:
    """The driver whose devices a label is about; "" where the claims of the pod must tell."""
    rule = _RULES.get(key)
    if rule is not None:
        return rule.driver
    for prefix, driver in _VENDORS.items():
        if key.startswith(prefix):
            return driver
    return ""


def turn(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    """One condition for the devices of one query."""
    known = evidence.remembered.get((condition, query))
    if not isinstance(known, Turned | Stays):
        known = _turned(condition, query, evidence)
        evidence.remembered[condition, query] = known
    return known


def _turned(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    if condition.key in _FACTS:
        return Stays(Cause.NODE_FACT, _FACTS[condition.key])
    rule = _RULES.get(condition.key)
    if rule is None:
        return _shown(condition, query, evidence)
    if condition.operator == "DoesNotExist":
        return Stays(Cause.NODE_FACT, "it asks for nodes without the label, which says nothing about a device")
    expression = _expression(condition, rule, _names(rule, query, evidence))
    if expression is None:
        return Stays(Cause.NO_ATTRIBUTE, f"no attribute of {rule.driver} says what {condition} says")
    return _tried(condition, Turned(expression, rule.why), query, evidence)


def partition_asked(condition: Condition) -> str | None:
    """The one MIG profile that a label asks for where `nvidia.com/gpu` counts partitions (MIG strategy single; GKE)."""
    if condition.operator != "In" or not condition.values:
        return None
    if condition.key == "cloud.google.com/gke-gpu-partition-size":
        return condition.values[0] if len(condition.values) == 1 else None
    if condition.key != "nvidia.com/gpu.product":
        return None
    found = {match["profile"] if (match := _PARTITION.search(value)) else None for value in condition.values}
    return found.pop() if len(found) == 1 else None


def _expression(condition: Condition, rule: _Rule, names: Sequence[str]) -> str | None:
    if condition.operator == "Exists":
        return ""
    if condition.operator in ("Gt", "Lt"):
        if rule.bound is None or len(condition.values) != 1 or not _INTEGER.fullmatch(condition.values[0]):
            return None
        return rule.bound(condition.operator, int(condition.values[0]))
    parts = [rule.equal(value, names) for value in condition.values]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts) or not found:
        return None
    joined = " || ".join(f"({part})" if "&&" in part and len(found) > 1 else part for part in found)
    if condition.operator == "In":
        return "" if "" in found else joined
    return None if "" in found else f"!({joined})"


def _tried(condition: Condition, turned: Turned, query: Query, evidence: Evidence) -> Turned | Stays:
    """Where the dump shows nodes with label and devices, both must say the same of every one of them."""
    labelled = any(condition.key in node.labels for node in evidence.nodes)
    for node in evidence.nodes if labelled else ():
        for each in evidence.matching(node.name, query):
            value = node.labels.get(condition.key)
            says = each.satisfies((turned.expression,)) if turned.expression else True
            if says is not condition.holds(value):
                label = "has no such label" if value is None else f"says {value}"
                found = "cannot be asked" if says is None else f"says {'yes' if says else 'no'}"
                why = f"node {node.name} {label}, but its device {each.device.name} {found} to {turned.expression!r}"
                return Stays(Cause.CONTRADICTED, why if turned.expression else f"node {node.name} {label}")
    return turned


def _shown(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    """A label without a documented rule: an attribute that has the label's value on all nodes, or one name for each."""
    if condition.operator not in ("In", "NotIn"):
        return Stays(Cause.NO_ATTRIBUTE, f"{condition.operator} on this label has no documented attribute")
    if not evidence.given:
        return Stays(Cause.NO_ATTRIBUTE, "no attribute is documented to say the same; with --check a dump may show one")
    seen = {
        str(node.name): (node.labels.get(condition.key), evidence.matching(node.name, query)) for node in evidence.nodes
    }
    seen = {name: found for name, found in seen.items() if found[1]}
    values = {value for value, _ in seen.values() if value is not None}
    missing = [value for value in condition.values if value not in values]
    if missing:
        return Stays(Cause.NO_ATTRIBUTE, f"the dump shows no device on a node with {condition.key}={missing[0]}")
    driver = query.driver or next(each.driver for _, found in seen.values() for each in found)
    names = _SHOWN.get(condition.key, ())
    for name in (*_equal_attributes(seen, driver), *names):
        sorts = _sorts(seen, name)
        wanted = sorted({text for value in condition.values for text in sorts.get(value, ())})
        if not sorts or not wanted or len(wanted) > _MOST_NAMES:
            continue
        where = attribute(driver, name)
        expression = " || ".join(f"{where} == {quoted(text)}" for text in wanted)
        if condition.operator == "NotIn":
            expression = f"!({expression})"
        why = f"on every node of the dump {condition.key} and {name} tell the same devices apart"
        found = _tried(condition, Turned(expression, why), query, evidence)
        if isinstance(found, Turned):
            return found
    if condition.key in _INSTANCE_TYPES:
        return Stays(Cause.NODE_FACT, "an instance type says more than its devices: CPUs, memory, network")
    return Stays(Cause.NO_ATTRIBUTE, "no attribute of the dump's devices says the same on every node")


def _equal_attributes(seen: Mapping[str, tuple[str | None, tuple[Published, ...]]], driver: str) -> list[str]:
    """String attributes that have the label's own value, spelling apart, on every device."""
    found: set[str] | None = None
    for value, devices in seen.values():
        for each in devices:
            if value is None or each.driver != driver:
                return []
            same = {name for name in each.device.attributes if _plain(each.text(name)) == _plain(value)}
            found = same if found is None else found & same
    return sorted(name for name in found or () if "/" not in name or name.startswith(f"{driver}/"))


def _sorts(seen: Mapping[str, tuple[str | None, tuple[Published, ...]]], name: str) -> dict[str, set[str]]:
    """Values of an attribute by value of the label; empty where one attribute value stands under two labels."""
    found: dict[str, set[str]] = {}
    owner: dict[str, str | None] = {}
    for value, devices in seen.values():
        for each in devices:
            text = each.text(name)
            if text is None or owner.setdefault(text, value) != value:
                return {}
            if value is not None:
                found.setdefault(value, set()).add(text)
    return found


def _plain(text: str | None) -> str | None:
    return None if text is None else re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _names(rule: _Rule, query: Query, evidence: Evidence) -> tuple[str, ...]:
    if not rule.attribute:
        return ()
    found = {
        text
        for node in evidence.nodes
        for each in evidence.matching(node.name, query)
        if (text := each.text(rule.attribute)) is not None
    }
    return tuple(sorted(found))


def asks_for_shares(condition: Condition) -> bool:
    """Whether a condition wants nodes whose devices are sold several times over."""
    if condition.operator != "In":
        return False
    if condition.key == "nvidia.com/gpu.product":
        return any(value.endswith("-SHARED") for value in condition.values)
    if condition.key == "nvidia.com/gpu.replicas":
        return any(value not in ("0", "1") for value in condition.values)
    if condition.key == "nvidia.com/gpu.sharing-strategy":
        return any(value != "none" for value in condition.values)
    return condition.key in (f"{_GKE}gke-gpu-sharing-strategy", f"{_GKE}gke-max-shared-clients-per-gpu")


def _named(driver: str, name: str, separator: str) -> Callable[[str, Sequence[str]], str | None]:
    """A label that is the attribute with blanks replaced. The dump's own names are used where they are unique."""
    where = attribute(driver, name)

    def equal(value: str, names: Sequence[str]) -> str:
        value = _PARTITION.sub("", value)
        known = [each for each in names if each.replace(" ", separator) == value]
        if len(known) == 1:
            return f"{where} == {quoted(known[0])}"
        return f'{where}.replace(" ", {quoted(separator)}) == {quoted(value)}'

    return equal


def _lowered(driver: str, name: str) -> Callable[[str, Sequence[str]], str | None]:
    where = attribute(driver, name)
    return lambda value, _: f'{where}.lowerAscii().replace(" ", "-") == {quoted(value)}'


def _part(driver: str, name: str, part: str) -> Callable[[str, Sequence[str]], str | None]:
    where = f"{attribute(driver, name)}.{part}()"
    return lambda value, _: f"{where} == {value}" if _INTEGER.fullmatch(value) else None


def _part_bound(driver: str, name: str, part: str) -> Callable[[str, int], str]:
    where = f"{attribute(driver, name)}.{part}()"
    return lambda operator, value: f"{where} {'>' if operator == 'Gt' else '<'} {value}"


def _text(driver: str, name: str, before: str = "") -> Callable[[str, Sequence[str]], str | None]:
    where = attribute(driver, name)
    return lambda value, _: f"{where} == {quoted(before + value)}"


def _count(driver: str, name: str) -> Callable[[str, Sequence[str]], str | None]:
    where = f'device.capacity["{driver}"].{name}'
    return lambda value, _: f"{where}.compareTo(quantity({quoted(value)})) == 0" if _INTEGER.fullmatch(value) else None


_MEMORY = f'device.capacity["{NVIDIA}"].memory'


def _mebibytes(value: str, _: Sequence[str]) -> str | None:
    """The label is the memory in MiB, rounded down."""
    if not _INTEGER.fullmatch(value):
        return None
    lowest, next_one = int(value), int(value) + 1
    return f'{_MEMORY}.compareTo(quantity("{lowest}Mi")) >= 0 && {_MEMORY}.compareTo(quantity("{next_one}Mi")) < 0'


def _mebibytes_bound(operator: str, value: int) -> str:
    if operator == "Gt":
        return f'{_MEMORY}.compareTo(quantity("{value + 1}Mi")) >= 0'
    return f'{_MEMORY}.compareTo(quantity("{value}Mi")) < 0'


def _present(value: str, _: Sequence[str]) -> str | None:
    return "" if value == "true" else None


_GFD = "gpu-feature-discovery writes it from the device's own"
_PRODUCT = _Rule(NVIDIA, _named(NVIDIA, "productName", "-"), f"{_GFD} product name", attribute="productName")
_AMD_PRODUCT = _Rule(
    AMD, _named(AMD, "productName", "_"), "the node labeller writes it from the product name", attribute="productName"
)
_RULES: Mapping[str, _Rule] = {
    "nvidia.com/gpu.product": _PRODUCT,
    "nvidia.com/gpu.memory": _Rule(NVIDIA, _mebibytes, f"{_GFD} memory, in MiB", _mebibytes_bound),
    "nvidia.com/gpu.family": _Rule(NVIDIA, _lowered(NVIDIA, "architecture"), f"{_GFD} architecture"),
    "nvidia.com/gpu.compute.major": _Rule(
        NVIDIA,
        _part(NVIDIA, "cudaComputeCapability", "major"),
        f"{_GFD} compute capability",
        _part_bound(NVIDIA, "cudaComputeCapability", "major"),
    ),
    "nvidia.com/gpu.compute.minor": _Rule(
        NVIDIA, _part(NVIDIA, "cudaComputeCapability", "minor"), f"{_GFD} compute capability"
    ),
    "nvidia.com/cuda.driver.major": _Rule(
        NVIDIA,
        _part(NVIDIA, "driverVersion", "major"),
        f"{_GFD} driver version",
        _part_bound(NVIDIA, "driverVersion", "major"),
    ),
    "nvidia.com/gpu.present": _Rule(NVIDIA, _present, "a node with a device of the claim has a GPU"),
    "amd.com/gpu.product-name": _AMD_PRODUCT,
    "beta.amd.com/gpu.product-name": _AMD_PRODUCT,
    "amd.com/gpu.device-id": _Rule(AMD, _text(AMD, "deviceID", "0x"), "the node labeller writes it without 0x"),
    "amd.com/gpu.cu-count": _Rule(AMD, _count(AMD, "computeUnits"), "both count compute units"),
    "amd.com/gpu.simd-count": _Rule(AMD, _count(AMD, "simdUnits"), "both count SIMD units"),
    "cloud.google.com/gke-tpu-accelerator": _Rule(
        TPU, _text(TPU, "accelerator"), "the TPU driver reads its accelerator from this label"
    ),
    "cloud.google.com/gke-gpu-partition-size": _Rule(
        NVIDIA, _text(NVIDIA, "profile"), "the partition size is the MIG profile"
    ),
    "cloud.google.com/gke-tpu-topology": _Rule(
        TPU, _text(TPU, "topology"), "the TPU driver reads its topology from this label"
    ),
}

_LIVES_ON = " (keep what writes the label running)"
_FACTS: Mapping[str, str] = {
    "nvidia.com/gpu.count": f"how many GPUs a node has is no attribute of a device{_LIVES_ON}",
    "nvidia.com/gpu.machine": f"the machine is no attribute of a device{_LIVES_ON}",
    "nvidia.com/gpu.replicas": f"how often the device plugin sells a GPU is no attribute of a device{_LIVES_ON}",
    "nvidia.com/gpu.sharing-strategy": f"how the device plugin shares GPUs is no attribute of a device{_LIVES_ON}",
    "nvidia.com/mig.strategy": f"the strategy is a setting of the device plugin, not of a device{_LIVES_ON}",
    "nvidia.com/mig.config": f"the partition layout of a node is no attribute of one device{_LIVES_ON}",
    "nvidia.com/mig.capable": f"no attribute says whether a GPU could be partitioned{_LIVES_ON}",
    "amd.com/gpu.vram": f"the labeller rounds it to gigabytes, so it names no exact capacity{_LIVES_ON}",
    "amd.com/gpu.family": f"the driver publishes no family{_LIVES_ON}",
    "cloud.google.com/gke-accelerator-count": f"how many devices a node has is no attribute of a device{_LIVES_ON}",
    "karpenter.k8s.aws/instance-gpu-count": f"how many GPUs a node has is no attribute of a device{_LIVES_ON}",
}
_INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_NAMES = ("productName", "model", "accelerator")
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "cloud.google.com/gke-accelerator": _NAMES,
    "k8s.amazonaws.com/accelerator": _NAMES,
    "karpenter.k8s.aws/instance-gpu-name": _NAMES,
    "karpenter.k8s.aws/instance-accelerator-name": _NAMES,
    "karpenter.azure.com/sku-gpu-name": _NAMES,
    **dict.fromkeys(_INSTANCE_TYPES, ()),
}
_VENDORS: Mapping[str, str] = {
    "nvidia.com/": NVIDIA,
    "amd.com/gpu": AMD,
    "beta.amd.com/gpu": AMD,
    "gpu.intel.com/": "gpu.intel.com",
    "habana.ai/": "gaudi.intel.com",
    "cloud.google.com/gke-tpu": TPU,
    "feature.node.kubernetes.io/network-sriov": SRIOV,
}
_PREFIXES = (*_VENDORS, "cloud.google.com/gke-gpu", "cloud.google.com/gke-max-shared-clients")
