"""A large cluster as an API server shows it: with managedFields, images, and everything else that is not kept."""

from collections.abc import Iterator

Json = dict[str, object]

NODES, PODS_PER_NODE = 5_000, 4
GPU, NIC = "gpu.example.com", "nic.example.com"
_STAMP = "2026-01-01T00:00:00Z"


def objects(nodes: int = NODES) -> Iterator[Json]:
    """`nodes` nodes, a slice of 8 GPUs and one of 8 NICs on each, and four pods on each."""
    for number in range(nodes):
        yield node(number)
        yield slice_of(number, "gpu", GPU)
        yield slice_of(number, "nic", NIC)
        for index in range(PODS_PER_NODE):
            yield pod(number, index)


def node_name(number: int) -> str:
    return f"ip-10-{number // 250 % 250}-{number % 250}-{number % 200}.region.compute.internal"


def node(number: int) -> Json:
    """About 12 KB, as kubelets on a cloud make them."""
    name = node_name(number)
    labels = {f"node.example.com/label-{index}": f"value-{index}" for index in range(20)}
    resources = {"cpu": "192", "memory": "2Ti", "pods": "110", "ephemeral-storage": "1Ti", "hugepages-2Mi": "0"}
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": _STAMP,
            "lastTransitionTime": _STAMP,
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example.com/team/image-{index}@sha256:{index:064x}"], "sizeBytes": 123456789}
        for index in range(50)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/rack": f"r{number // 16:04d}", **labels},
            "annotations": {f"node.example.com/note-{index}": "x" * 40 for index in range(5)},
            "managedFields": _managed("kubelet", 60),
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///zone-a/i-{number:017x}"},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": "v1.37.0",
                "osImage": "Linux",
                "architecture": "amd64",
                "machineID": "x" * 32,
            },
            "images": images,
        },
    }


def slice_of(number: int, kind: str, driver: str) -> Json:
    """Eight devices with ten attributes each, about 5 KB."""
    name = node_name(number)
    devices = [
        {
            "name": f"{kind}-{index}",
            "attributes": {
                "index": {"int": index},
                "numa": {"int": index // 4},
                "uuid": {"string": f"{kind}-{number:08d}-{index}"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index:02d}"},
                **{f"attribute-{extra}": {"string": "value"} for extra in range(6)},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(8)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{driver}", "managedFields": _managed("driver", 20)},
        "spec": {"driver": driver, "nodeName": name, "pool": pool, "devices": devices},
    }


def pod(number: int, index: int, note: str = "") -> Json:
    """A running pod, about 4 KB; `note` makes it another one than before."""
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _STAMP}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    container = {
        "name": "main",
        "image": "registry.example.com/team/image:v1",
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}},
        "env": [{"name": f"VARIABLE_{extra}", "value": "value"} for extra in range(10)],
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
    }
    status = {"name": "main", "ready": True, "restartCount": 0, "imageID": "x" * 80, "state": {"running": {}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"work-{number:05d}-{index}",
            "namespace": f"team-{number % 20}",
            "labels": {"app": "work", "team": f"team-{number % 20}"},
            "annotations": {"bench/note": note},
            "managedFields": _managed("kubelet", 40),
        },
        "spec": {
            "nodeName": node_name(number),
            "containers": [container],
            "volumes": [{"name": "token", "projected": {"sources": []}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        },
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [status], "podIP": "10.0.0.9"},
    }


def _managed(manager: str, fields: int) -> list[Json]:
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": _STAMP,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {f"f:field-{index}": {} for index in range(fields)}},
        }
    ]
