"""The problems that the engine's speed is measured on, in the form of the corpus, from a seed.

fleet: nodes of 8 GPUs and 8 NICs, a third of them busy; one pod wants three pairs of GPU and NIC, each pair on one PCIe
root, all GPUs on one NUMA node. clean: nothing is busy. serials: as fleet, every device with a serial number.
hard: one node, GPUs in two NUMA halves, one GPU more wanted than a half has. rails: as many GPU-NIC pairs on common
PCIe roots as there are GPUs, and one NIC is on a root of its own.
"""

import random
from typing import Any

GPU, NIC, ROOT = "gpu.example.com", "nic.example.com", "resource.kubernetes.io/pcieRoot"
Json = dict[str, Any]

CLASSES: list[Json] = [
    {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}}
    for name, driver in (("gpu", GPU), ("nic", NIC))
]


def problem(kind: str, size: int) -> Json:
    """`size`: nodes of a fleet, GPUs of a node otherwise."""
    match kind:
        case "fleet" | "serials":
            return _fleet(kind, size, 0.33, serials=kind == "serials")
        case "clean":
            return _fleet(kind, size, 0.0, serials=False)
        case "hard":
            return _hard(size)
        case "rails":
            return _rails(size)
        case _:
            raise ValueError(f"unknown problem {kind!r}")


def _device(kind: str, index: int) -> Json:
    return {
        "name": f"{kind}-{index}",
        "attributes": {
            "numa": {"int": index // 4},
            "index": {"int": index},
            "model": {"string": "h100"},
            ROOT: {"string": f"pci0000:{index:02d}"},
        },
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _slice(name: str, driver: str, node: str, devices: list[Json]) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {"metadata": {"name": name}, "spec": {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}}


def _request(name: str, device_class: str, count: int = 1, *selectors: str) -> Json:
    wanted: Json = {"deviceClassName": device_class, "count": count, "allocationMode": "ExactCount"}
    if selectors:
        wanted["selectors"] = [{"cel": {"expression": selector}} for selector in selectors]
    return {"name": name, "exactly": wanted}


def _pairs(count: int, *selectors: str) -> tuple[list[Json], list[Json]]:
    requests = [
        request
        for index in range(count)
        for request in (_request(f"g{index}", "gpu", 1, *selectors), _request(f"n{index}", "nic"))
    ]
    return requests, [{"requests": [f"g{index}", f"n{index}"], "matchAttribute": ROOT} for index in range(count)]


def _row(name: str, nodes: list[Json], slices: list[Json], requests: list[Json], constraints: list[Json]) -> Json:
    devices = {"requests": requests, "constraints": constraints}
    claim = {"metadata": {"name": "c", "namespace": "d", "uid": "c"}, "spec": {"devices": devices}}
    row: Json = {"id": name, "nodes": nodes, "slices": slices, "classes": CLASSES, "claims": [claim], "allocated": []}
    return row


def _fleet(kind: str, size: int, busy: float, *, serials: bool) -> Json:
    rng = random.Random(7)
    nodes: list[Json] = []
    slices: list[Json] = []
    held: list[Json] = []
    for number in range(size):
        name = f"node-{number:05d}"
        nodes.append({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        for device_kind, driver in (("gpu", GPU), ("nic", NIC)):
            devices = [_device(device_kind, index) for index in range(8)]
            if serials:
                for index, device in enumerate(devices):
                    device["attributes"]["uuid"] = {"string": f"{name}-{device_kind}-{index}"}
            slices.append(_slice(f"{name}-{device_kind}", driver, name, devices))
            for index in range(8):
                if rng.random() < busy:
                    result = {"request": "r", "driver": driver, "pool": name, "device": f"{device_kind}-{index}"}
                    metadata = {"name": f"h{len(held)}", "namespace": "d", "uid": f"h{len(held)}"}
                    status = {"allocation": {"devices": {"results": [result]}}}
                    held.append({"metadata": metadata, "spec": {}, "status": status})
    selector = (
        f'device.attributes["{GPU}"].model == "h100" && '
        f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0'
    )
    requests, constraints = _pairs(3, selector)
    constraints.append({"requests": ["g0", "g1", "g2"], "matchAttribute": f"{GPU}/numa"})
    return _row(f"{kind}-{size}", nodes, slices, requests, constraints) | {"allocated": held}


_NODE: Json = {"metadata": {"name": "node-0", "labels": {}}}


def _hard(size: int) -> Json:
    gpus, nics = ([_device(kind, index) for index in range(size)] for kind in ("gpu", "nic"))
    for devices in (gpus, nics):
        for index, device in enumerate(devices):
            device["attributes"]["numa"] = {"int": index * 2 // size}
            device["attributes"][ROOT] = {"string": f"pci{index // 2}"}
    half = size // 2
    requests = [_request("g", "gpu", half // 2 + 1), _request("h", "gpu", half - half // 2)]
    slices = [_slice("s-g", GPU, "node-0", gpus), _slice("s-n", NIC, "node-0", nics)]
    constraints = [{"matchAttribute": f"{GPU}/numa", "requests": ["g", "h"]}]
    return _row(f"hard-{size}", [_NODE], slices, requests, constraints)


def _rails(size: int) -> Json:
    gpus, nics = ([_device(kind, index) for index in range(size)] for kind in ("gpu", "nic"))
    nics[-1]["attributes"][ROOT] = {"string": "foreign"}
    slices = [_slice("s-g", GPU, "node-0", gpus), _slice("s-n", NIC, "node-0", nics)]
    return _row(f"rails-{size}", [_NODE], slices, *_pairs(size))
