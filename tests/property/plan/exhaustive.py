"""The slow, obvious planner: every way to put pods on nodes, the cheapest that holds. For a handful of pods only."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Node,
    ResourceClaim,
    allocate,
    parse_claim,
    parse_claim_template,
    parse_class,
    parse_slice,
)
from muster_types import NodeName, parse_quantity
from unit.muster_plan.builders import HOST, KUEUE, RACK

Place = tuple[str, int]  # node name and -1, or group name and ordinal


def least_cost(row: dict[str, Any]) -> tuple[float, int] | None:
    """The least cost and with it the fewest new nodes, None when no way holds."""
    pods = [
        (each["podTemplateRef"]["name"], index)
        for each in row["request"]["spec"]["podSets"]
        for index in range(each["count"])
    ]
    places: list[Place] = [(each["metadata"]["name"], -1) for each in row["nodes"]]
    for each in row["nodeGroups"]:
        room = min(each["spec"]["maxSize"] - each["spec"]["currentSize"], len(pods))
        places += [(each["metadata"]["name"], ordinal) for ordinal in range(room)]
    world = _World(row)
    best: tuple[float, int] | None = None
    for choice in _choices(pods, places):
        price = world.price(choice)
        if price is not None and (best is None or price < best) and world.holds(pods, choice):
            best = price
    return best


def _choices(pods: list[tuple[str, int]], places: list[Place]) -> Iterator[tuple[Place, ...]]:
    """Pods of one set are alike, so only sorted choices; new nodes of a group are used in order."""
    for choice in product(range(len(places)), repeat=len(pods)):
        if any(a[0] == b[0] and x > y for a, b, x, y in zip(pods, pods[1:], choice, choice[1:], strict=False)):
            continue
        found = tuple(places[index] for index in choice)
        ordinals: dict[str, set[int]] = {}
        for name, ordinal in found:
            if ordinal >= 0:
                ordinals.setdefault(name, set()).add(ordinal)
        if all(each == set(range(len(each))) for each in ordinals.values()):
            yield found


class _World:
    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.groups = {each["metadata"]["name"]: each["spec"] for each in row["nodeGroups"]}
        self.nodes = {each["metadata"]["name"]: each for each in row["nodes"]}
        self.templates = {each["metadata"]["name"]: each["template"] for each in row["podTemplates"]}
        self.specs = {each["metadata"]["name"]: parse_claim_template(each) for each in row["claimTemplates"]}
        self.known: dict[object, bool] = {}

    def price(self, choice: tuple[Place, ...]) -> tuple[float, int] | None:
        cost, nodes = 0.0, 0
        for name, spec in self.groups.items():
            used = len({ordinal for group, ordinal in choice if group == name and ordinal >= 0})
            unit = spec.get("atomicUnit", 1)
            ordered = -(-used // unit) * unit
            if ordered > spec["maxSize"] - spec["currentSize"]:
                return None
            cost, nodes = cost + ordered * spec["pricePerNode"], nodes + ordered
        return cost, nodes

    def holds(self, pods: list[tuple[str, int]], choice: tuple[Place, ...]) -> bool:
        for name, template in self.templates.items():
            if KUEUE + "podset-required-topology" in template["metadata"]["annotations"]:
                taken = {place for pod, place in zip(pods, choice, strict=True) if pod[0] == name}
                racks = {self._labels(place).get(RACK) for place in taken}
                if len(racks) > 1 or None in racks:
                    return False
        for place in set(choice):
            kinds = tuple(sorted(pod[0] for pod, other in zip(pods, choice, strict=True) if other == place))
            key = (place[0], place[1] >= 0, kinds)
            if key not in self.known:
                self.known[key] = self._fits(place, kinds)
            if not self.known[key]:
                return False
        return True

    def _labels(self, place: Place) -> dict[str, str]:
        name, ordinal = place
        body = self.nodes[name] if ordinal < 0 else self.groups[name]["template"]
        return body["metadata"]["labels"]

    def _fits(self, place: Place, kinds: tuple[str, ...]) -> bool:
        name, ordinal = place
        if ordinal < 0:
            total = parse_quantity(self.nodes[name]["status"]["allocatable"]["cpu"])
            total -= sum(_cpu(pod) for pod in self.row["pods"] if pod["spec"]["nodeName"] == name)
            slices = [each for each in self.row["slices"] if each["spec"]["nodeName"] == name]
        else:
            template = self.groups[name]["template"]
            total = parse_quantity(template["status"]["allocatable"]["cpu"])
            slices = [
                {"metadata": {"name": f"s{i}"}, "spec": {**spec, "nodeName": name}}
                for i, spec in enumerate(template["resourceSlices"])
            ]
        if sum(_cpu(self.templates[kind]) for kind in kinds) > total:
            return False
        catalog = Catalog.build(
            [parse_slice(each) for each in slices], [parse_class(each) for each in self.row["classes"]]
        )
        held = [parse_claim(each) for each in self.row["allocated"]] if ordinal < 0 else []
        claims = [ResourceClaim(f"c{i}", spec=self.specs[kind]) for i, kind in enumerate(kinds)]
        node = Node(NodeName(name), {HOST: name})
        return isinstance(allocate(node, claims, catalog, AllocatedState.from_claims(held)), Allocation)


def _cpu(pod: dict[str, Any]) -> int:
    return sum(parse_quantity(each["resources"]["requests"]["cpu"]) for each in pod["spec"]["containers"])
