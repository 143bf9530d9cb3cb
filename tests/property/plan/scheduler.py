"""A small scheduler: pods one by one, first fit of devices, a node of its choice, no second look."""

import random
from collections.abc import Mapping
from typing import Any

from muster_dra import Allocation, ResourceClaim, allocate, parse_claim_template
from muster_plan import ExistingNode, NewNode, Plan, Snapshot, Target
from muster_types import NodeName, parse_quantity
from property.plan.fleets import objects_of
from unit.muster_plan.builders import GPU, HOST, NIC, RACK, Json, node


class Scheduler:
    """The cluster after a plan's new nodes have arrived as promised."""

    def __init__(self, row: dict[str, Any], plan: Plan) -> None:
        self.names: dict[Target, NodeName] = {}
        arrived: list[Json] = []
        groups = {each["metadata"]["name"]: each["spec"]["template"] for each in row["nodeGroups"]}
        for placement in plan.placements:
            target = placement.target
            match target:
                case ExistingNode(name):
                    self.names[target] = name
                case NewNode(group, ordinal):
                    name = NodeName(f"{group}-{ordinal}")
                    if target not in self.names:
                        arrived += _arrival(name, groups[group])
                    self.names[target] = name
        self.snapshot = Snapshot.build([*objects_of(row), *arrived])
        self.allocated = self.snapshot.allocated
        self.specs = {each["metadata"]["name"]: parse_claim_template(each) for each in row["claimTemplates"]}
        self.cpu = {
            each["metadata"]["name"]: parse_quantity(
                each["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            )
            for each in row["podTemplates"]
        }
        self.free = {
            name: self.snapshot.node(name).allocatable["cpu"] - self.snapshot.usage(name).requests.get("cpu", 0)  # type: ignore[union-attr] - it exists
            for name in set(self.names.values())
        }

    def racks_of(self, plan: Plan, pod_set: str) -> set[str | None]:
        return {self._labels(self.names[each.target]).get(RACK) for each in plan.placements if each.pod_set == pod_set}

    def _labels(self, name: NodeName) -> Mapping[str, str]:
        found = self.snapshot.node(name)
        assert found is not None
        return found.labels

    def place(self, pod_set: str, rng: random.Random, racks: set[str | None] | None) -> bool:
        """One pod on a node of the scheduler's choice; False if it fits none."""
        names = sorted(self.free)
        rng.shuffle(names)
        return any(
            self.place_on(pod_set, name) for name in names if racks is None or self._labels(name).get(RACK) in racks
        )

    def place_on(self, pod_set: str, name: NodeName) -> bool:
        found = self.snapshot.node(name)
        assert found is not None
        if self.cpu[pod_set] > self.free[name]:
            return False
        claim = ResourceClaim("c", spec=self.specs[pod_set])
        outcome = allocate(found.node, [claim], self.snapshot.catalog, self.allocated)
        if not isinstance(outcome, Allocation):
            return False
        self.allocated = self.allocated.plus(outcome.claims[0].results)
        self.free[name] -= self.cpu[pod_set]
        return True


def _arrival(name: NodeName, template: Json) -> list[Json]:
    devices = {each["driver"]: each["devices"] for each in template["resourceSlices"]}
    labels = {key: value for key, value in template["metadata"]["labels"].items() if key != HOST}
    return node(
        name,
        devices=devices.get(GPU, ()),
        nic_devices=devices.get(NIC, ()),
        labels=labels,
        cpu=template["status"]["allocatable"]["cpu"],
    )


def _cpu(pod: Json) -> int:
    return sum(parse_quantity(each["resources"]["requests"]["cpu"]) for each in pod["spec"]["containers"])
