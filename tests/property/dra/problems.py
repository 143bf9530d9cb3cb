"""Random allocation problems with every feature mixed, as JSON rows in the form of the corpus, from a seed.

Small on purpose: the reference search has to finish, and clashes of features are likelier when there is little of each.
"""

import random
from dataclasses import replace
from typing import Any

from muster_dra import Features, Meaning, Release

GPU, NIC = "gpu.example.com", "nic.example.com"
ROOT = "resource.kubernetes.io/pcieRoot"
CLASSES = [
    {"metadata": {"name": "any"}, "spec": {}},
    {
        "metadata": {"name": "gpu"},
        "spec": {
            "selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}],
            "config": [{"opaque": {"driver": GPU, "parameters": {"mode": "fast"}}}],
        },
    },
    {"metadata": {"name": "nic"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{NIC}"'}}]}},
]
ERRING = [
    f'device.attributes["{GPU}"].numa == 0',
    f'device.attributes["{NIC}"].model == "a"',
    f'device.attributes["{GPU}"].odd == 1',
]
"""Errors on devices that do not publish what they read."""
SELECTORS = [
    f'device.attributes["{GPU}"].?numa.orValue(0) == 1',
    f'device.attributes["{GPU}"].?numa.orValue(1) == 1',
    f'device.attributes["{GPU}"].?model.orValue("a") == "a"',
    f'device.attributes["{ROOT.partition("/")[0]}"].?pcieRoot.orValue("r0") == "r0"',
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
    "true",
    "true",
]
TOLERATIONS = [
    [{"operator": "Exists"}],
    [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
    [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
]
TAINTS = [
    {"key": "k", "value": "v", "effect": "NoSchedule"},
    {"key": "k", "value": "w", "effect": "NoExecute"},
    {"key": "x", "effect": "None"},
]
POLICIES = [
    {"default": "2"},
    {"default": "0"},
    {"default": "2", "validValues": ["2", "4"]},
    {"default": "1", "validRange": {"min": "1", "max": "3", "step": "1"}},
    {"default": "500m", "validRange": {"min": "500m", "step": "500m"}},
]


def problem(seed: int) -> dict[str, Any]:
    """One row: nodes, slices, classes, claims, allocated."""
    return _Generator(random.Random(seed)).row(seed)


def features(seed: int) -> Features:
    """The gates, release and strictness that go with the seed: mostly the defaults."""
    rng = random.Random(f"features {seed}")
    chosen = rng.choice([Features.v1_37(), Features.v1_37(), Features.v1_36()])
    if rng.random() < 0.5:
        chosen = replace(chosen, list_type_attributes=True)
    if rng.random() < 0.2:
        chosen = replace(chosen, meaning=Meaning.DOCUMENTED)
    if chosen.release is Release.V1_36:
        chosen = replace(chosen, backports=rng.random() < 0.8)
    for gate in (
        "admin_access",
        "prioritized_list",
        "partitionable_devices",
        "device_taints",
        "binding_conditions",
        "consumable_capacity",
    ):
        if rng.random() < 0.012:
            chosen = replace(chosen, **{gate: False})
    return chosen


class _Generator:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.p = {
            name: rng.random() * weight
            for name, weight in {
                "numaless": 0.3,
                "shared": 0.7,
                "tainted": 0.4,
                "counters": 1.0,
                "negative": 0.1,
                "list": 0.3,
                "odd": 0.08,
                "erring": 0.3,
                "admin": 0.4,
                "all": 0.5,
                "alternatives": 0.7,
                "constraint": 1.0,
                "selector": 0.6,
                "held": 0.3,
                "broken_pool": 0.1,
                "twins": 0.4,
                "binding": 0.2,
            }.items()
        }
        rare = "numaless negative twins list odd erring counters shared admin broken_pool all"
        for name in rare.split():
            if rng.random() < 0.5:
                self.p[name] = 0.0

    def chance(self, name: str) -> bool:
        return self.rng.random() < self.p[name]

    def row(self, seed: int) -> dict[str, Any]:
        rng = self.rng
        nodes = [
            {"metadata": {"name": f"n{i}", "labels": {"zone": f"z{i % 2}", "rack": str(i)}}}
            for i in range(rng.choice([1, 1, 2]))
        ]
        slices: list[dict[str, Any]] = []
        for node in nodes:
            name = node["metadata"]["name"]
            for kind, driver in (("gpu", GPU), ("nic", NIC)):
                if rng.random() < 0.9:
                    slices += self.pool(kind, driver, name if rng.random() < 0.9 else f"{name}-{kind}", name)
        if rng.random() < 0.3:
            slices += self.fabric(len(nodes))
        rng.shuffle(slices)
        devices = [
            (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device)
            for slice_ in slices
            for device in slice_["spec"].get("devices", [])
        ]
        return {
            "id": f"fuzz-{seed}",
            "nodes": nodes,
            "slices": slices,
            "classes": CLASSES,
            "claims": [self.claim(i) for i in range(rng.choice([1, 1, 1, 2, 2, 3]))],
            "allocated": [self.held(i, *found) for i, found in enumerate(devices) if self.chance("held")],
        }

    def pool(self, kind: str, driver: str, pool: str, node: str) -> list[dict[str, Any]]:
        rng = self.rng
        if self.chance("twins"):
            return self.twins(kind, driver, pool, node)
        partitioned = self.chance("counters")
        count = rng.choice([2, 3, 4, 4, 6, 8])
        devices = [self.device(kind, i, partitioned) for i in range(count)]
        pieces = [devices] if rng.random() < 0.7 else [devices[: count // 2], devices[count // 2 :]]
        specs: list[dict[str, Any]] = [{"devices": piece} for piece in pieces if piece]
        if partitioned:
            sets = [
                {
                    "name": f"set-{i}",
                    "counters": {"a": {"value": str(rng.randint(3, 12))}, "b": {"value": str(rng.randint(3, 12))}},
                }
                for i in range(2)
            ]
            if self.chance("odd"):
                sets[0]["counters"]["a"]["value"] = "-1"
            specs.append({"sharedCounters": sets})
        wanted = len(specs)
        if self.chance("broken_pool"):
            wanted += rng.choice([-1, 1])
        if self.chance("broken_pool"):
            devices.append(dict(devices[0]))
        return [
            {
                "metadata": {"name": f"{node}-{kind}-{i}"},
                "spec": {
                    "driver": driver,
                    "pool": {"name": pool, "generation": 1, "resourceSliceCount": max(wanted, 1)},
                    "nodeName": node,
                    **spec,
                },
            }
            for i, spec in enumerate(specs)
        ]

    def twins(self, kind: str, driver: str, pool: str, node: str) -> list[dict[str, Any]]:
        """Two or three partitioned devices of one make: counter sets that can be exchanged."""
        rng = self.rng
        count = rng.choice([2, 2, 3])
        make = [self.device(kind, 0, partitioned=False) for _ in range(rng.randint(1, 3))]
        draws = [{rng.choice("ab"): {"value": str(rng.randint(1, 4))}} for _ in make]
        room = {"a": {"value": str(rng.randint(2, 7))}, "b": {"value": str(rng.randint(2, 7))}}
        devices: list[dict[str, Any]] = []
        for owner in range(count):
            for index, (device, draw) in enumerate(zip(make, draws, strict=True)):
                attributes = dict(device["attributes"])
                if rng.random() < 0.1:
                    attributes["model"] = {"string": "c"}
                devices.append(
                    device
                    | {
                        "name": f"{kind}-{owner}-{index}",
                        "attributes": attributes,
                        "consumesCounters": [{"counterSet": f"set-{owner}", "counters": draw}],
                    }
                )
        if rng.random() < 0.5:
            rng.shuffle(devices)
        sets = [{"name": f"set-{owner}", "counters": room} for owner in range(count)]
        common = {"driver": driver, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 2}, "nodeName": node}
        return [
            {"metadata": {"name": f"{node}-{kind}-0"}, "spec": common | {"devices": devices}},
            {"metadata": {"name": f"{node}-{kind}-c"}, "spec": common | {"sharedCounters": sets}},
        ]

    def fabric(self, nodes: int) -> list[dict[str, Any]]:
        rng = self.rng
        driver = rng.choice([GPU, NIC])
        place: dict[str, Any] = rng.choice(
            [
                {"allNodes": True},
                {"nodeSelector": _selector("zone", "In", "z0")},
                {"nodeSelector": _selector("rack", "Gt", "0")},
                {"perDeviceNodeSelection": True},
            ]
        )
        devices = [self.device("fab", i, partitioned=False) for i in range(rng.randint(1, 4))]
        if "perDeviceNodeSelection" in place:
            places: list[dict[str, Any]] = [
                {"allNodes": True},
                {"nodeName": f"n{rng.randrange(nodes)}"},
                {"nodeSelector": _selector("zone", "In", "z0")},
            ]
            devices = [device | rng.choice(places) for device in devices]
        return [
            {
                "metadata": {"name": "fabric"},
                "spec": {
                    "driver": driver,
                    "pool": {"name": "fabric", "generation": 1, "resourceSliceCount": 1},
                    **place,
                    "devices": devices,
                },
            }
        ]

    def device(self, kind: str, index: int, partitioned: bool) -> dict[str, Any]:
        rng = self.rng
        attributes: dict[str, Any] = {"model": {"string": rng.choice("aab")}, ROOT: {"string": f"r{rng.randrange(3)}"}}
        if not self.chance("numaless"):
            attributes["numa"] = {"int": rng.randrange(2)}
        if self.chance("list"):
            attributes[ROOT] = {"strings": [f"r{rng.randrange(3)}" for _ in range(rng.randint(1, 2))]}
        if self.chance("odd"):
            attributes["odd"] = rng.choice([{}, {"ints": []}, {"version": "v1"}, {"version": "1.0.0"}])
        device: dict[str, Any] = {"name": f"{kind}-{index}", "attributes": attributes}
        if rng.random() < 0.5:
            device["capacity"] = {"memory": {"value": rng.choice(["4", "4", "6", "2.5"])}}
        if self.chance("shared"):
            device["allowMultipleAllocations"] = True
            if "capacity" in device and rng.random() < 0.7:
                device["capacity"]["memory"]["requestPolicy"] = rng.choice(POLICIES)
        if self.chance("tainted"):
            device["taints"] = rng.sample(TAINTS, rng.randint(1, 2))
        if partitioned and rng.random() < 0.8:
            device["consumesCounters"] = [
                {"counterSet": f"set-{i}", "counters": {rng.choice("ab"): {"value": str(rng.randint(1, 5))}}}
                for i in rng.sample([0, 1], rng.choice([1, 1, 2]))
            ]
            if self.chance("negative"):
                device["consumesCounters"][0]["counters"] = {"a": {"value": "-2"}}
        if self.chance("binding"):
            device["bindingConditions"] = rng.choice([[], ["example.com/ready"]])
        if rng.random() < 0.05:
            device["bindsToNode"] = True
        return device

    def claim(self, index: int) -> dict[str, Any]:
        rng = self.rng
        requests = [self.request(f"r{i}") for i in range(rng.choice([1, 1, 2, 2, 3, 4]))]
        names = [request["name"] for request in requests]
        names += [f"{r['name']}/{s['name']}" for r in requests for s in r.get("firstAvailable", [])]
        constraints: list[dict[str, Any]] = []
        while self.chance("constraint") and len(constraints) < 3:
            kind = rng.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
            attribute = rng.choice([ROOT, ROOT, ROOT, f"{GPU}/numa", f"{NIC}/numa", f"{GPU}/odd", f"{GPU}/model"])
            constraint: dict[str, Any] = {kind: attribute}
            if rng.random() < 0.7:
                constraint["requests"] = rng.sample(names, min(len(names), rng.randint(1, 3)))
            constraints.append(constraint)
        devices: dict[str, Any] = {"requests": requests, "constraints": constraints}
        if rng.random() < 0.2:
            devices["config"] = [
                {
                    "requests": rng.sample(names, 1) if rng.random() < 0.5 else [],
                    "opaque": {"driver": GPU, "parameters": {}},
                }
            ]
        return {"metadata": {"name": f"claim-{index}", "namespace": "default"}, "spec": {"devices": devices}}

    def request(self, name: str) -> dict[str, Any]:
        if self.chance("alternatives"):
            subs = [{"name": f"s{i}"} | self.exact(sub=True) for i in range(self.rng.randint(1, 3))]
            return {"name": name, "firstAvailable": subs}
        return {"name": name, "exactly": self.exact(sub=False)}

    def exact(self, *, sub: bool) -> dict[str, Any]:
        rng = self.rng
        request: dict[str, Any] = {"deviceClassName": rng.choice(["any", "gpu", "gpu", "gpu", "nic", "nic"])}
        if self.chance("all"):
            request["allocationMode"] = "All"
        else:
            request |= {"allocationMode": "ExactCount", "count": rng.choice([1, 1, 1, 1, 2, 2, 3, 4])}
        while self.chance("selector") and len(request.get("selectors", [])) < 2:
            expression = rng.choice(ERRING if self.chance("erring") else SELECTORS)
            request.setdefault("selectors", []).append({"cel": {"expression": expression}})
        if rng.random() < 0.3:
            request["tolerations"] = rng.choice(TOLERATIONS)
        if rng.random() < 0.3:
            amount = rng.choice(["1", "2", "3", "500m", "4", "6"])
            request["capacity"] = {"requests": {"memory": "-2" if self.chance("negative") else amount}}
        if not sub and self.chance("admin"):
            request["adminAccess"] = rng.random() < 0.9
        return request

    def held(self, index: int, driver: str, pool: str, device: dict[str, Any]) -> dict[str, Any]:
        rng = self.rng
        result: dict[str, Any] = {"request": "r", "driver": driver, "pool": pool, "device": device["name"]}
        shared = device.get("allowMultipleAllocations", False)
        if shared != (rng.random() < 0.1):
            result["shareID"] = f"share-{index}"
            if rng.random() < 0.8:
                amount = rng.choice(["1", "2", "0", "-2" if self.chance("negative") else "1"])
                result["consumedCapacity"] = {"memory": amount} if "capacity" in device else {}
        if rng.random() < 0.1:
            result["adminAccess"] = True
        return {
            "metadata": {"name": f"held-{index}", "namespace": "default"},
            "spec": {},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }


def _selector(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}]}
