"""Which label of a node says what a device publishes, as those who write the labels document it.

Sources: NVIDIA gpu-feature-discovery, AMD node labeller, GKE, Karpenter; attributes: dra-semantics §1.15 and the
documentation of the drivers. A label that is here as a fact of the node has no attribute, with the reason.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muster_migrate.catalogue import AMD, NVIDIA, SRIOV, TPU, attribute, quoted

INTEGER = re.compile(r"\d+")
PARTITION = re.compile(r"-MIG-(?P<profile>\d+g\.\d+gb\S*)$")


@dataclass(frozen=True, slots=True)
class LabelRule:
    """`driver` publishes what the label says. `equal` gives CEL for one value, `bound` for Gt and Lt."""

    driver: str
    equal: Callable[[str, Sequence[str]], str | None]
    why: str
    bound: Callable[[str, int], str] | None = None
    attribute: str = ""


def _named(driver: str, name: str, separator: str) -> Callable[[str, Sequence[str]], str | None]:
    """A label that is the attribute with blanks replaced. The dump's own names are used where they are unique."""
    where = attribute(driver, name)

    def equal(value: str, names: Sequence[str]) -> str:
        value = PARTITION.sub("", value)
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
    return lambda value, _: f"{where} == {value}" if INTEGER.fullmatch(value) else None


def _part_bound(driver: str, name: str, part: str) -> Callable[[str, int], str]:
    where = f"{attribute(driver, name)}.{part}()"
    return lambda operator, value: f"{where} {'>' if operator == 'Gt' else '<'} {value}"


def _text(driver: str, name: str, before: str = "") -> Callable[[str, Sequence[str]], str | None]:
    where = attribute(driver, name)
    return lambda value, _: f"{where} == {quoted(before + value)}"


def _count(driver: str, name: str) -> Callable[[str, Sequence[str]], str | None]:
    where = f'device.capacity["{driver}"].{name}'
    return lambda value, _: f"{where}.compareTo(quantity({quoted(value)})) == 0" if INTEGER.fullmatch(value) else None


_MEMORY = f'device.capacity["{NVIDIA}"].memory'


def _mebibytes(value: str, _: Sequence[str]) -> str | None:
    """The label is the memory in MiB, rounded down."""
    if not INTEGER.fullmatch(value):
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
_PRODUCT = LabelRule(NVIDIA, _named(NVIDIA, "productName", "-"), f"{_GFD} product name", attribute="productName")
_AMD_PRODUCT = LabelRule(
    AMD, _named(AMD, "productName", "_"), "the node labeller writes it from the product name", attribute="productName"
)
RULES: Mapping[str, LabelRule] = {
    "nvidia.com/gpu.product": _PRODUCT,
    "nvidia.com/gpu.memory": LabelRule(NVIDIA, _mebibytes, f"{_GFD} memory, in MiB", _mebibytes_bound),
    "nvidia.com/gpu.family": LabelRule(NVIDIA, _lowered(NVIDIA, "architecture"), f"{_GFD} architecture"),
    "nvidia.com/gpu.compute.major": LabelRule(
        NVIDIA,
        _part(NVIDIA, "cudaComputeCapability", "major"),
        f"{_GFD} compute capability",
        _part_bound(NVIDIA, "cudaComputeCapability", "major"),
    ),
    "nvidia.com/gpu.compute.minor": LabelRule(
        NVIDIA, _part(NVIDIA, "cudaComputeCapability", "minor"), f"{_GFD} compute capability"
    ),
    "nvidia.com/cuda.driver.major": LabelRule(
        NVIDIA,
        _part(NVIDIA, "driverVersion", "major"),
        f"{_GFD} driver version",
        _part_bound(NVIDIA, "driverVersion", "major"),
    ),
    "nvidia.com/gpu.present": LabelRule(NVIDIA, _present, "a node with a device of the claim has a GPU"),
    "amd.com/gpu.product-name": _AMD_PRODUCT,
    "beta.amd.com/gpu.product-name": _AMD_PRODUCT,
    "amd.com/gpu.device-id": LabelRule(AMD, _text(AMD, "deviceID", "0x"), "the node labeller writes it without 0x"),
    "amd.com/gpu.cu-count": LabelRule(AMD, _count(AMD, "computeUnits"), "both count compute units"),
    "amd.com/gpu.simd-count": LabelRule(AMD, _count(AMD, "simdUnits"), "both count SIMD units"),
    "cloud.google.com/gke-tpu-accelerator": LabelRule(
        TPU, _text(TPU, "accelerator"), "the TPU driver reads its accelerator from this label"
    ),
    "cloud.google.com/gke-gpu-partition-size": LabelRule(
        NVIDIA, _text(NVIDIA, "profile"), "the partition size is the MIG profile"
    ),
    "cloud.google.com/gke-tpu-topology": LabelRule(
        TPU, _text(TPU, "topology"), "the TPU driver reads its topology from this label"
    ),
}

_LIVES_ON = " (keep what writes the label running)"
NODE_FACTS: Mapping[str, str] = {
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
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_NAMES = ("productName", "model", "accelerator")
NAMED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "cloud.google.com/gke-accelerator": _NAMES,
    "k8s.amazonaws.com/accelerator": _NAMES,
    "karpenter.k8s.aws/instance-gpu-name": _NAMES,
    "karpenter.k8s.aws/instance-accelerator-name": _NAMES,
    "karpenter.azure.com/sku-gpu-name": _NAMES,
    **dict.fromkeys(INSTANCE_TYPES, ()),
}
VENDORS: Mapping[str, str] = {
    "nvidia.com/": NVIDIA,
    "amd.com/gpu": AMD,
    "beta.amd.com/gpu": AMD,
    "gpu.intel.com/": "gpu.intel.com",
    "habana.ai/": "gaudi.intel.com",
    "cloud.google.com/gke-tpu": TPU,
    "feature.node.kubernetes.io/network-sriov": SRIOV,
}
PREFIXES = (*VENDORS, "cloud.google.com/gke-gpu", "cloud.google.com/gke-max-shared-clients")
