"""Generated fleets that offer their devices in both forms, and pods that ask for them by number.

Labels, integers and slices of a node tell of the same hardware, as gpu-feature-discovery, the AMD labeller, the device
plugins and the DRA drivers would. `mixed` nodes hold two products under one product label.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

Json = Mapping[str, object]
PRODUCTS = {  # product name -> (architecture, MiB, compute capability)
    "NVIDIA H100 80GB HBM3": ("Hopper", 81559, "9.0.0"),
    "NVIDIA A100-SXM4-80GB": ("Ampere", 81920, "8.0.0"),
    "NVIDIA L4": ("Ada Lovelace", 23034, "8.9.0"),
}
AMD_PRODUCTS = ("AMD_Instinct_MI300X_OAM", "AMD Instinct MI250X")
PROFILES = ("1g.10gb", "3g.40gb")
NVIDIA, AMD = "gpu.nvidia.com", "gpu.amd.com"


@dataclass(frozen=True)
class NodeShape:
    """What one node is made of; `gpus` are product names, `partitions` MIG profiles of `gpus[0]`-like boards."""

    name: str
    vendor: str
    gpus: tuple[str, ...]
    partitions: tuple[str, ...]
    zone: str
    cpu: int

    @property
    def offers(self) -> dict[str, int]:
        """Integers by resource."""
        name = "nvidia.com/gpu" if self.vendor == NVIDIA else "amd.com/gpu"
        found = {name: len(self.gpus)} if self.gpus else {}
        for profile in self.partitions:
            resource = f"nvidia.com/mig-{profile}"
            found[resource] = found.get(resource, 0) + 1
        return found

    @property
    def labels(self) -> dict[str, str]:
        found = {"topology.kubernetes.io/zone": self.zone}
        if self.vendor == AMD:
            return {**found, **({"amd.com/gpu.product-name": self.gpus[0].replace(" ", "_")} if self.gpus else {})}
        if not self.gpus:
            return found
        architecture, memory, capability = PRODUCTS[self.gpus[0]]
        return {
            **found,
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": self.gpus[0].replace(" ", "-"),
            "nvidia.com/gpu.memory": str(memory),
            "nvidia.com/gpu.family": architecture.lower().replace(" ", "-"),
            "nvidia.com/gpu.compute.major": capability.split(".")[0],
            "nvidia.com/gpu.count": str(len(self.gpus)),
        }

    def node(self, *, integers: bool = True) -> Json:
        """The Node; without integers it is one whose device plugin is gone."""
        offers = {name: str(count) for name, count in self.offers.items()} if integers else {}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels},
            "status": {"allocatable": {"cpu": str(self.cpu), "memory": "64Gi", "pods": "110", **offers}},
        }

    def objects(self, *, integers: bool = True) -> list[Json]:
        """The Node and its slice."""
        devices = [self._gpu(index, product) for index, product in enumerate(self.gpus)]
        devices += [self._partition(index, profile) for index, profile in enumerate(self.partitions)]
        if not devices:
            return [self.node(integers=integers)]
        slice_: Json = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{self.name}-gpu"},
            "spec": {
                "driver": self.vendor,
                "pool": {"name": self.name, "generation": 1, "resourceSliceCount": 1},
                "nodeName": self.name,
                "devices": devices,
            },
        }
        return [self.node(integers=integers), slice_]

    def _gpu(self, index: int, product: str) -> Json:
        if self.vendor == AMD:
            attributes = {"type": {"string": "amdgpu"}, "productName": {"string": product}}
            return {"name": f"gpu-{index}", "attributes": attributes}
        return {"name": f"gpu-{index}", **_nvidia(product, "gpu")}

    def _partition(self, index: int, profile: str) -> Json:
        product = self.gpus[0] if self.gpus else next(iter(PRODUCTS))
        body = _nvidia(product, "mig")
        attributes = body["attributes"]
        assert isinstance(attributes, dict)
        return {**body, "name": f"mig-{index}", "attributes": {**attributes, "profile": {"string": profile}}}


def _nvidia(product: str, kind: str) -> dict[str, object]:
    architecture, memory, capability = PRODUCTS[product]
    return {
        "attributes": {
            "type": {"string": kind},
            "productName": {"string": product},
            "architecture": {"string": architecture},
            "cudaComputeCapability": {"version": capability},
        },
        "capacity": {"memory": {"value": f"{memory}Mi"}},
    }


CLASSES: tuple[Json, ...] = tuple(
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    for name, expression in (
        (NVIDIA, f'device.driver == "{NVIDIA}" && device.attributes["{NVIDIA}"].type == "gpu"'),
        ("mig.nvidia.com", f'device.driver == "{NVIDIA}" && device.attributes["{NVIDIA}"].type == "mig"'),
        (AMD, f'device.driver == "{AMD}"'),
    )
)


@st.composite
def nodes(draw: st.DrawFn, *, mixed: bool) -> tuple[NodeShape, ...]:
    """One to four nodes; `mixed`: some hold two products."""
    found: list[NodeShape] = []
    for index in range(draw(st.integers(1, 4))):
        vendor = draw(st.sampled_from((NVIDIA, NVIDIA, AMD)))
        products = tuple(PRODUCTS) if vendor == NVIDIA else AMD_PRODUCTS
        gpus = (draw(st.sampled_from(products)),) * draw(st.integers(0, 4))
        if mixed and gpus and draw(st.booleans()):
            gpus += (draw(st.sampled_from(products)),)
        partitions = tuple(draw(st.lists(st.sampled_from(PROFILES), max_size=3))) if vendor == NVIDIA else ()
        zone = draw(st.sampled_from(("a", "b")))
        found.append(NodeShape(f"node-{index}", vendor, gpus, partitions, zone, draw(st.sampled_from((4, 16)))))
    return tuple(found)


_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu", "amd.com/gpu", *(f"nvidia.com/mig-{each}" for each in PROFILES))
LABELS = {
    "nvidia.com/gpu.product": (*(each.replace(" ", "-") for each in PRODUCTS), "Tesla-T4"),
    "nvidia.com/gpu.family": ("hopper", "ampere", "ada-lovelace"),
    "nvidia.com/gpu.memory": ("81559", "81920", "23034", "81558"),
    "nvidia.com/gpu.compute.major": ("8", "9"),
    "nvidia.com/gpu.count": ("1", "4"),
    "nvidia.com/gpu.present": ("true",),
    "amd.com/gpu.product-name": tuple(each.replace(" ", "_") for each in AMD_PRODUCTS),
    "topology.kubernetes.io/zone": ("a", "b"),
}


@st.composite
def containers(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    """Init containers (sidecars among them) and app containers."""
    resources = draw(st.lists(st.sampled_from(_RESOURCES), min_size=1, max_size=2, unique=True))
    inits: list[Json] = []
    for index in range(draw(st.integers(0, 3))):
        sidecar = {"restartPolicy": "Always"} if draw(st.booleans()) else {}
        inits.append({"name": f"init-{index}", **sidecar, **draw(_resources(resources))})
    apps = [{"name": f"app-{index}", **draw(_resources(resources))} for index in range(draw(st.integers(1, 3)))]
    return inits, apps


@st.composite
def _resources(draw: st.DrawFn, names: list[str]) -> Json:
    limits: dict[str, object] = {}
    for name in names:
        count = draw(st.integers(0, 3))
        if count or draw(st.booleans()):
            limits[name] = draw(st.sampled_from((count, str(count))))
    requests = dict(limits) if draw(st.booleans()) else {}
    if draw(st.booleans()):
        requests["cpu"] = draw(st.sampled_from(("1", "3")))
    found: dict[str, object] = {}
    if limits:
        found["limits"] = limits
    if requests:
        found["requests"] = requests
    return {"resources": found} if found or draw(st.booleans()) else {}


@st.composite
def expressions(draw: st.DrawFn) -> Json:
    """One requirement of a node selector term."""
    key = draw(st.sampled_from(sorted(LABELS)))
    operators = ["In", "NotIn", "Exists", "DoesNotExist"]
    if key in ("nvidia.com/gpu.memory", "nvidia.com/gpu.compute.major"):
        operators += ["Gt", "Lt"]
    operator = draw(st.sampled_from(operators))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    if operator in ("Gt", "Lt"):
        return {"key": key, "operator": operator, "values": [draw(st.sampled_from(LABELS[key]))]}
    values = draw(st.lists(st.sampled_from(LABELS[key]), min_size=1, max_size=2, unique=True))
    return {"key": key, "operator": operator, "values": values}


@st.composite
def pods(draw: st.DrawFn) -> Json:
    """A Pod with integers and conditions on labels."""
    inits, apps = draw(containers())
    spec: dict[str, object] = {}
    selector = {
        key: draw(st.sampled_from(LABELS[key])) for key in draw(st.sets(st.sampled_from(sorted(LABELS)), max_size=2))
    }
    if selector:
        spec["nodeSelector"] = selector
    terms = draw(st.lists(st.lists(expressions(), min_size=1, max_size=2), max_size=2))
    if terms:
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": term} for term in terms]
                }
            }
        }
    if inits:
        spec["initContainers"] = inits
    spec["containers"] = apps
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "a"}, "spec": spec}
