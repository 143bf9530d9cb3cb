"""Random allocation problems with every feature mixed, as JSON rows in the form of the corpus, from a seed.

Small on purpose: the references have to finish, and clashes of features are likelier when there is little of each.
"""

import random
from typing import Any

from property.dra.variations import varied
from property.dra.vocabulary import CLASSES, ERRING, GPU, NIC, POLICIES, ROOT, SELECTORS, TAINTS, TOLERATIONS


def problem(seed: int) -> dict[str, Any]:
    """One row: nodes, slices, classes, claims, allocated; plain objects of v1 in pools of one generation."""
    return _Generator(random.Random(seed)).row(seed)


def untidy_problem(seed: int) -> dict[str, Any]:
    """As `problem`, with generations, versions, rules and limits mixed in.

    `filled`: the defaults of the API server apply.
    """
    return varied({"filled": True, "taintRules": []} | problem(seed), random.Random(f"untidy {seed}"))


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
        self.kind = rng.random() < 0.8
        if self.kind:
            for name in ["tainted", "held", "broken_pool", "erring", "odd", "all", "selector", "numaless", "list"]:
                self.p[name] *= 0.2

    def chance(self, name: str) -> bool:
        return self.rng.random() < self.p[name]

    def row(self, seed: int) -> dict[str, Any]:
        rng = self.rng
        nodes: list[dict[str, Any]] = [
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
        if rng.random() < 0.15:
            slices += self.rack([node["metadata"]["name"] for node in nodes])
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
            sets: list[dict[str, Any]] = [
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

    def rack(self, nodes: list[str]) -> list[dict[str, Any]]:
        """One pool over several nodes, one of them perhaps not asked about, whose devices draw the same counters."""
        rng = self.rng
        partitioned = rng.random() < 0.7
        places: list[dict[str, Any]] = [{"nodeName": name} for name in [*nodes, "elsewhere"]]
        bodies: list[dict[str, Any]] = [
            {"devices": [self.device(f"rack-{at}", i, partitioned) for i in range(rng.randint(1, 3))]}
            for at in range(len(places))
        ]
        if partitioned:
            room = [{"a": {"value": str(rng.randint(3, 14))}, "b": {"value": str(rng.randint(3, 14))}} for _ in "ab"]
            bodies.append({"sharedCounters": [{"name": f"set-{i}", "counters": one} for i, one in enumerate(room)]})
            places.append(rng.choice([{"allNodes": True}, {"nodeName": "elsewhere"}, {"nodeName": nodes[0]}]))
        pool = {"name": rng.choice(["a-rack", "z-rack"]), "generation": 1, "resourceSliceCount": len(bodies)}
        driver = rng.choice([GPU, NIC])
        return [
            {"metadata": {"name": f"rack-{at}"}, "spec": {"driver": driver, "pool": dict(pool), **place, **body}}
            for at, (place, body) in enumerate(zip(places, bodies, strict=True))
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

    def root(self) -> str:
        return self.rng.choice(["r0", "r0", "r0", "r1"]) if self.kind else f"r{self.rng.randrange(3)}"

    def device(self, kind: str, index: int, partitioned: bool) -> dict[str, Any]:
        rng = self.rng
        attributes: dict[str, Any] = {"model": {"string": rng.choice("aab")}, ROOT: {"string": self.root()}}
        if not self.chance("numaless"):
            attributes["numa"] = {"int": rng.randrange(2)}
        if self.chance("list"):
            attributes[ROOT] = {"strings": [f"r{rng.randrange(3)}" for _ in range(rng.randint(1, 2))]}
        if self.chance("odd"):
            attributes["odd"] = rng.choice([{}, {"ints": []}, {"version": "v1"}, {"version": "1.0.0"}])
        device: dict[str, Any] = {"name": f"{kind}-{index}", "attributes": attributes}
        if rng.random() < (0.9 if self.kind else 0.5):
            memory: dict[str, Any] = {"value": rng.choice(["4", "4", "6", "2.5"])}
            device["capacity"] = {"memory": memory}
        if self.chance("shared"):
            device["allowMultipleAllocations"] = True
            if "capacity" in device and rng.random() < 0.7:
                device["capacity"]["memory"]["requestPolicy"] = rng.choice(POLICIES)
        if rng.random() < 0.2:
            name = rng.choice(["cores", f"{GPU}/cores"])
            further: dict[str, Any] = {"value": rng.choice(["2", "3", "8"])}
            if self.chance("shared"):
                further["requestPolicy"] = rng.choice(POLICIES)
            device.setdefault("capacity", {})[name] = further
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
            if rng.random() < 0.5:
                device["bindingFailureConditions"] = ["example.com/broken"]
        if rng.random() < 0.05:
            device["bindsToNode"] = True
        return device

    def claim(self, index: int) -> dict[str, Any]:
        rng = self.rng
        most = [1, 1, 1, 2, 2, 3] if self.kind else [1, 1, 2, 2, 3, 4]
        requests = [self.request(f"r{i}") for i in range(rng.choice(most))]
        names = [request["name"] for request in requests]
        names += [f"{r['name']}/{s['name']}" for r in requests for s in r.get("firstAvailable", [])]
        constraints: list[dict[str, Any]] = []
        attributes = [ROOT, ROOT, ROOT, f"{GPU}/numa", f"{NIC}/numa", f"{GPU}/odd", f"{GPU}/model"]
        while self.chance("constraint") and len(constraints) < 3:
            kind = rng.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
            attribute = ROOT if self.kind and rng.random() < 0.8 else rng.choice(attributes)
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
            request |= {
                "allocationMode": "ExactCount",
                "count": rng.choice([1] * 6 * self.kind + [1, 1, 1, 1, 2, 2, 3, 4]),
            }
        while self.chance("selector") and len(request.get("selectors", [])) < 2:
            expression = rng.choice(ERRING if self.chance("erring") else SELECTORS)
            request.setdefault("selectors", []).append({"cel": {"expression": expression}})
        if rng.random() < 0.3:
            request["tolerations"] = rng.choice(TOLERATIONS)
        if rng.random() < (0.2 if self.kind else 0.3):
            amount = rng.choice(["1", "1", "2", "2", "3", "500m", "4", "6"])
            request["capacity"] = {"requests": {"memory": "-2" if self.chance("negative") else amount}}
            if rng.random() < 0.2:
                request["capacity"]["requests"][rng.choice(["cores", f"{GPU}/cores"])] = rng.choice(["1", "2", "1500m"])
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
                result["consumedCapacity"] = dict.fromkeys(device.get("capacity", {}), amount)
        if rng.random() < 0.1:
            result["adminAccess"] = True
        return {
            "metadata": {"name": f"held-{index}", "namespace": "default"},
            "spec": {},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }


def _selector(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}]}
