"""What makes a generated problem less tidy: old generations, old API versions, counts at the limits, rules.

Each works on a finished row, so that whoever reads rows in the plain shape of v1 can do without.
"""

import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

Row = dict[str, Any]
_BETA1 = "resource.k8s.io/v1beta1"


def varied(row: Row, rng: random.Random) -> Row:
    """The row, changed in place."""
    for change, chance in _CHANGES:
        if rng.random() < chance:
            change(row, rng)
    return row


def _pools(row: Row) -> list[list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for each in row["slices"]:
        found.setdefault((each["spec"]["driver"], each["spec"]["pool"]["name"]), []).append(each)
    return list(found.values())


def stale_generation(row: Row, rng: random.Random) -> None:
    """An older form of a pool is still published: other devices, attributes and counters under the same names."""
    if not row["slices"]:
        return
    pool = rng.choice(_pools(row))
    for each in pool:
        old = deepcopy(each)
        old["metadata"]["name"] += "-old"
        devices = old["spec"].get("devices", [])
        rng.shuffle(devices)
        del devices[rng.randint(0, len(devices)) :]
        row["slices"].append(old)
        each["spec"]["pool"]["generation"] = 2
    rng.shuffle(row["slices"])


def half_updated(row: Row, rng: random.Random) -> None:
    """Some slices of a pool are a generation ahead of the others."""
    if row["slices"]:
        for each in rng.choice(_pools(row)):
            each["spec"]["pool"]["generation"] = rng.choice([1, 2])


def ahead_elsewhere(row: Row, rng: random.Random) -> None:
    """A pool over several nodes: other nodes have newer slices already, beside or instead of the older ones."""
    for each in [one for one in row["slices"] if one["spec"]["pool"]["name"].endswith("-rack")]:
        if rng.random() < 0.4:
            newer = deepcopy(each)
            newer["metadata"]["name"] += "-new"
            newer["spec"]["pool"]["generation"] = 2
            row["slices"].append(newer)
            if rng.random() < 0.3:
                row["slices"].remove(each)


def miscounted(row: Row, rng: random.Random) -> None:
    """Slices of one pool disagree about how many they are."""
    if row["slices"]:
        each = rng.choice(row["slices"])
        each["spec"]["pool"]["resourceSliceCount"] = rng.choice([1, 1, 2, 3])


def nowhere(row: Row, rng: random.Random) -> None:
    """A slice without any node field: a member of its pool, and no source of devices."""
    if row["slices"]:
        spec = rng.choice(row["slices"])["spec"]
        for field in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"):
            spec.pop(field, None)


def counters_beside_devices(row: Row, rng: random.Random) -> None:
    """A slice holds counter sets and devices, as 1.33 and 1.34 wrote them: its devices do not exist."""
    for pool in _pools(row):
        counting = [each for each in pool if "sharedCounters" in each["spec"]]
        plain = [each for each in pool if each["spec"].get("devices")]
        if counting and plain and rng.random() < 0.7:
            row["slices"].remove(counting[0])
            rng.choice(plain)["spec"]["sharedCounters"] = counting[0]["spec"]["sharedCounters"]
            for each in pool:
                each["spec"]["pool"]["resourceSliceCount"] = max(1, each["spec"]["pool"]["resourceSliceCount"] - 1)


def overdrawn(row: Row, rng: random.Random) -> None:
    """Somebody holds more of a pool's counters than it has; other pools have sets of the same names."""
    counting = [each for each in row["slices"] if "sharedCounters" in each["spec"]]
    if not counting:
        return
    chosen = rng.choice(counting)
    for each in chosen["spec"]["sharedCounters"]:
        rng.choice(list(each["counters"].values()))["value"] = rng.choice(["0", "1"])
    driver, pool = chosen["spec"]["driver"], chosen["spec"]["pool"]["name"]
    drawing = [
        device["name"]
        for each in row["slices"]
        if (each["spec"]["driver"], each["spec"]["pool"]["name"]) == (driver, pool)
        for device in each["spec"].get("devices", [])
        if device.get("consumesCounters")
    ]
    if drawing:
        result = {"request": "r", "driver": driver, "pool": pool, "device": rng.choice(drawing)}
        row["allocated"].append(
            {
                "metadata": {"name": "overdraws", "namespace": "default"},
                "spec": {},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }
        )


def taint_rules(row: Row, rng: random.Random) -> None:
    """Rules for a driver, a pool, a device, or without a word about whom."""
    rules: list[Row] = []
    for index in range(rng.choice([1, 1, 2])):
        each: Row = rng.choice(row["slices"])["spec"] if row["slices"] else {"driver": "d", "pool": {"name": "p"}}
        names = [device["name"] for device in each.get("devices", [])] or ["none"]
        whole = {"driver": each["driver"], "pool": each["pool"]["name"], "device": rng.choice(names)}
        chosen = rng.sample(sorted(whole), rng.choice([1, 2, 3, 3, 3]))
        spec: Row = {"deviceSelector": {field: whole[field] for field in chosen}}
        if rng.random() < 0.1:
            spec = rng.choice([{}, {"deviceSelector": {}}])
        spec["taint"] = {"key": "k", "value": "v", "effect": rng.choice(["NoSchedule", "NoExecute", "None"])}
        rules.append({"metadata": {"name": f"rule-{index}"}, "spec": spec})
    row["taintRules"] = rules


def _options(row: Row) -> list[Row]:
    requests = [each for claim in row["claims"] for each in claim["spec"]["devices"]["requests"]]
    return [one for each in requests for one in each.get("firstAvailable", [each.get("exactly", {})])]


def counts_as_written(row: Row, rng: random.Random) -> None:
    """Objects that no API server has seen: a count of 0, or none, and rarely no mode."""
    row["filled"] = rng.random() < 0.4
    for option in _options(row):
        if rng.random() < 0.4 and option.get("allocationMode") == "ExactCount":
            option["count"] = 0
            if rng.random() < 0.3:
                del option["count"]
        if rng.random() < 0.05:
            del option["allocationMode"]


def near_the_limit(row: Row, rng: random.Random) -> None:
    """Many plain devices, and requests whose numbers come near 32."""
    template = {"attributes": {"model": {"string": "a"}}, "taints": []}
    devices = [{"name": f"many-{index}", **deepcopy(template)} for index in range(rng.choice([31, 32, 33, 40]))]
    pool = {"name": "many", "generation": 1, "resourceSliceCount": 1}
    place = {"nodeName": row["nodes"][0]["metadata"]["name"]}
    row["slices"].append(
        {
            "metadata": {"name": "many"},
            "spec": {"driver": "gpu.example.com", "pool": pool, **place, "devices": devices},
        }
    )
    for option in rng.sample(_options(row), 1):
        if option.get("allocationMode") == "ExactCount":
            option["count"] = rng.choice([20, 28, 30, 31, 32, 32, 32, 33])
            for field in ("capacity", "selectors"):
                option.pop(field, None)
            if rng.random() < 0.7:
                option["deviceClassName"] = "gpu"
                for claim in row["claims"]:
                    claim["spec"]["devices"]["constraints"] = []


def both_attributes(row: Row, rng: random.Random) -> None:
    """A constraint with both attributes, of which the first alone counts."""
    for claim in row["claims"]:
        for constraint in claim["spec"]["devices"].get("constraints", []):
            if rng.random() < 0.5:
                other = rng.choice(["gpu.example.com/model", "gpu.example.com/numa"])
                constraint.setdefault(rng.choice(["matchAttribute", "distinctAttribute"]), other)


def several_holders_in_one(row: Row, rng: random.Random) -> None:
    """What is held is held by few claims with several results each."""
    results = [one for each in row["allocated"] for one in each["status"]["allocation"]["devices"]["results"]]
    if results:
        row["allocated"] = [row["allocated"][0] | {"status": {"allocation": {"devices": {"results": results}}}}]


def several_terms(row: Row, rng: random.Random) -> None:
    """A node selector that has a second term, or one that cannot be read."""
    holders = [each["spec"] for each in row["slices"]]
    holders += [device for each in row["slices"] for device in each["spec"].get("devices", [])]
    holders = [each for each in holders if each.get("nodeSelector")]
    if holders:
        terms = rng.choice(holders)["nodeSelector"]["nodeSelectorTerms"]
        second = {"key": "rack", "operator": rng.choice(["In", "Lt", "Exists"]), "values": ["0"]}
        terms.append({"matchExpressions": [second]})


def selected_nodes(row: Row, rng: random.Random) -> None:
    """Slices that are for nodes by labels or by name, in every form that a selector has, and some that it must not."""
    for each in row["slices"]:
        if "nodeName" in each["spec"] and rng.random() < 0.5:
            name = each["spec"].pop("nodeName")
            number = name[1:] if name[1:].isdigit() else "7"
            label = rng.choice(
                [
                    {"key": "rack", "operator": "In", "values": [number, "8"]},
                    {"key": "rack", "operator": "NotIn", "values": ["9"]},
                    {"key": "zone", "operator": "Exists"},
                    {"key": "none", "operator": "DoesNotExist"},
                    {"key": "rack", "operator": "Lt", "values": [str(int(number) + 1)]},
                    {"key": "zone", "operator": "Gt", "values": ["0"]},
                ]
            )
            field = {"key": "metadata.name", "operator": "In", "values": [name]}
            term: Row = rng.choice(
                [
                    {"matchExpressions": [label]},
                    {"matchFields": [field]},
                    {"matchExpressions": [label]} | {"matchFields": [field]},
                ]
            )
            if rng.random() < 0.04:
                term = rng.choice(
                    [
                        {},
                        {"matchExpressions": [{"key": "rack", "operator": "Gt", "values": ["x"]}]},
                        {"matchExpressions": [{"key": "rack", "operator": "In", "values": []}]},
                        {"matchExpressions": [{"key": "rack", "operator": "Near", "values": ["1"]}]},
                        {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["1"]}]},
                    ]
                )
            each["spec"]["nodeSelector"] = {"nodeSelectorTerms": [term]}


def broken_claims(row: Row, rng: random.Random) -> None:
    """What ends the attempt: a missing class, a selector without expression or of no meaning, an unknown mode."""
    option = rng.choice(_options(row) or [{}])
    devices = rng.choice(row["claims"])["spec"]["devices"]
    match rng.randrange(6):
        case 0:
            option["deviceClassName"] = rng.choice(["", "missing"])
        case 1:
            option.setdefault("selectors", []).append(rng.choice([{}, {"cel": {"expression": "noSuchName"}}]))
        case 2:
            option["allocationMode"] = "Some"
        case 3:
            devices.setdefault("constraints", []).append({"requests": []})
        case 4:
            devices["requests"] = []
        case _:
            devices["requests"] = [*devices["requests"], {"name": "nothing"}]


def older_versions(row: Row, rng: random.Random) -> None:
    """Slices and claims in the forms of v1beta2 and v1beta1."""
    for each in row["slices"] + row["claims"]:
        version = rng.choice(["v1", "v1beta2", "v1beta1", "v1beta1"])
        each["apiVersion"] = f"resource.k8s.io/{version}"
        if version != "v1beta1":
            continue
        spec = each["spec"]
        if "driver" in spec:
            spec["devices"] = [
                {"name": device["name"], "basic": {key: value for key, value in device.items() if key != "name"}}
                for device in spec.get("devices", [])
            ]
            spec.setdefault("nodeName", "")
            spec.setdefault("allNodes", False)
        else:
            for request in spec["devices"]["requests"]:
                request.update(request.pop("exactly", {}))


_CHANGES: tuple[tuple[Callable[[Row, random.Random], None], float], ...] = (
    (near_the_limit, 0.03),
    (stale_generation, 0.12),
    (half_updated, 0.05),
    (ahead_elsewhere, 0.25),
    (miscounted, 0.03),
    (nowhere, 0.02),
    (overdrawn, 0.06),
    (counters_beside_devices, 0.04),
    (selected_nodes, 0.08),
    (broken_claims, 0.03),
    (several_terms, 0.05),
    (taint_rules, 0.12),
    (counts_as_written, 0.06),
    (both_attributes, 0.1),
    (several_holders_in_one, 0.3),
    (older_versions, 0.25),
)
"""In this order; versions come last because the others read v1."""
