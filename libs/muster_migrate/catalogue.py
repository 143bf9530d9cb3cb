"""Which devices an integer resource stands for, as the vendors document it.

Sources: the device plugins' and DRA drivers' own documentation (NVIDIA k8s-device-plugin and gpu-feature-discovery,
dra-semantics §1.15; AMD k8s-device-plugin and k8s-gpu-dra-driver; Intel device plugins and resource drivers;
kubernetes-sigs dra-driver-google-tpu; k8snetworkplumbingwg dra-driver-sriov). What is not here is not guessed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from muster_migrate.remarks import Cause

NVIDIA = "gpu.nvidia.com"
AMD = "gpu.amd.com"
INTEL = "gpu.intel.com"
GAUDI = "gaudi.intel.com"
TPU = "tpu.google.com"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"


@dataclass(frozen=True, slots=True)
class Query:
    """Devices in the words of a claim: a class, and CEL selectors besides those of the class.

    `noun` names requests and claims, `why` says where the mapping comes from. `driver` is "" where only the class
    knows. `class_selectors` are those of the class as documented, for a dump that does not hold it.
    """

    device_class: str
    driver: str
    noun: str
    why: str
    selectors: tuple[str, ...] = ()
    class_selectors: tuple[str, ...] = ()

    def narrowed(self, *selectors: str) -> "Query":
        """With more selectors; one that is there already is not repeated."""
        new = [each for each in selectors if each not in self.selectors]
        return replace(self, selectors=(*self.selectors, *new))


@dataclass(frozen=True, slots=True)
class NoEquivalent:
    """No claim means the same, or nobody knows which."""

    cause: Cause
    why: str
    remedy: str = ""


def attribute(driver: str, name: str) -> str:
    """How CEL names an attribute: by its own domain if it has one, else by the driver's."""
    domain, _, own = name.rpartition("/")
    return f'device.attributes["{domain or driver}"].{own}'


def quoted(value: str) -> str:
    """A CEL string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def documented(resource: str) -> Query | NoEquivalent | None:
    """The mapping of a resource name; None for a name that nobody here knows."""
    for pattern, answer in _SPECIAL:
        found = pattern.fullmatch(resource)
        if found:
            return answer(found)
    return _PLAIN.get(resource)


def mig_query(profile: str) -> Query:
    """A MIG partition of one profile, such as `1g.5gb` or `1g.5gb+me`."""
    return Query(
        "mig.nvidia.com",
        NVIDIA,
        "mig",
        f"a MIG device of profile {profile}",
        (f"{attribute(NVIDIA, 'profile')} == {quoted(profile)}",),
        (_of_driver(NVIDIA), f'{attribute(NVIDIA, "type")} == "mig"'),
    )


def _of_driver(driver: str) -> str:
    return f"device.driver == {quoted(driver)}"


def _mig(found: re.Match[str]) -> Query | NoEquivalent:
    if found["shared"]:
        return _SHARED
    # A resource name can't hold the plus sign of a profile such as 1g.5gb+me: the plugin writes a dot.
    base, _, extras = found["profile"].partition("gb")
    return mig_query(f"{base}gb" + extras.replace(".", "+"))


def _amd_partition(found: re.Match[str]) -> Query:
    profile = found["profile"]
    kind = "amdgpu" if profile.startswith("spx") else "amdgpu-partition"
    return Query(
        AMD,
        AMD,
        "gpu",
        f"a GPU partition of profile {profile}",
        (
            f"{attribute(AMD, 'type')} == {quoted(kind)}",
            f"{attribute(AMD, 'partitionProfile')} == {quoted(profile)}",
        ),
        (_of_driver(AMD),),
    )


_SHARED = NoEquivalent(
    Cause.SHARED,
    "each unit is a share of a GPU that the device plugin sells several times over (time-slicing or MPS); a claim "
    "takes a whole device, and nothing says how much memory or time a share was meant to have",
    "decide: whole GPUs (rename the resource to nvidia.com/gpu), MIG devices, or a claim with a sharing config of the "
    "driver that several containers use",
)
_INTEL_SHARES = NoEquivalent(
    Cause.SHARED,
    "it counts parts of GPUs, which GPU Aware Scheduling hands out; a claim takes a whole device",
    "ask for gpu.intel.com/i915 or gpu.intel.com/xe, or for capacity of the device in a claim written by hand",
)
_MONITORING = NoEquivalent(
    Cause.SHARED,
    "it gives access to all GPUs of the node beside their users; that is admin access, which only namespaces with the "
    "label resource.kubernetes.io/admin-access may claim",
    "write a claim with adminAccess: true and allocationMode: All by hand",
)
_RDMA_SHARED = NoEquivalent(
    Cause.SHARED,
    "its units are places on one shared RDMA device, not devices",
    "use a driver that publishes the interface with allowMultipleAllocations (DRANET), and write the claim by hand",
)

_PLAIN: Mapping[str, Query | NoEquivalent] = {
    "nvidia.com/gpu": Query(
        NVIDIA,
        NVIDIA,
        "gpu",
        "a whole NVIDIA GPU",
        class_selectors=(_of_driver(NVIDIA), f'{attribute(NVIDIA, "type")} == "gpu"'),
    ),
    "nvidia.com/gpu.shared": _SHARED,
    "amd.com/gpu": Query(
        AMD,
        AMD,
        "gpu",
        "a whole AMD GPU",
        (f'{attribute(AMD, "type")} == "amdgpu"',),
        (_of_driver(AMD),),
    ),
    "gpu.intel.com/i915": Query(INTEL, INTEL, "gpu", "an Intel GPU", class_selectors=(_of_driver(INTEL),)),
    "gpu.intel.com/xe": Query(INTEL, INTEL, "gpu", "an Intel GPU", class_selectors=(_of_driver(INTEL),)),
    "gpu.intel.com/millicores": _INTEL_SHARES,
    "gpu.intel.com/memory.max": _INTEL_SHARES,
    "gpu.intel.com/tiles": _INTEL_SHARES,
    "gpu.intel.com/i915_monitoring": _MONITORING,
    "gpu.intel.com/xe_monitoring": _MONITORING,
    "habana.ai/gaudi": Query(GAUDI, GAUDI, "gaudi", "a Gaudi accelerator", class_selectors=(_of_driver(GAUDI),)),
    "google.com/tpu": Query(TPU, TPU, "tpu", "a TPU chip", class_selectors=(_of_driver(TPU),)),
}
_SPECIAL = (
    (re.compile(r"nvidia\.com/mig-(?P<profile>\d+g\.\d+gb(?:\.[a-z0-9]+)*?)(?P<shared>\.shared)?"), _mig),
    (re.compile(r"amd\.com/(?P<profile>(?:spx|dpx|tpx|qpx|cpx)_nps\d)"), _amd_partition),
    (re.compile(r"rdma/[A-Za-z0-9_.-]*shared[A-Za-z0-9_.-]*"), lambda _: _RDMA_SHARED),
)
