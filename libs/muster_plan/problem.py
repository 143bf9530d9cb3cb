"""Planning problems as JSON lines, the form of shared/corpus: one row in, one answer out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from muster_dra import InvalidObject
from muster_plan.gang import Gang, InvalidGang
from muster_plan.plan_json import placement_json
from muster_plan.plan_types import NoPlan, NoPlanKind
from muster_plan.planner import plan
from muster_plan.policy import CHEAPEST, FirstFit, Policy
from muster_plan.snapshot import Snapshot

_LISTS: Mapping[str, str] = {
    "nodes": "Node",
    "slices": "ResourceSlice",
    "classes": "DeviceClass",
    "taintRules": "DeviceTaintRule",
    "pods": "Pod",
    "allocated": "ResourceClaim",
    "claims": "ResourceClaim",
    "podGroups": "PodGroup",
    "nodeGroups": "NodeGroup",
    "claimTemplates": "ResourceClaimTemplate",
    "podTemplates": "PodTemplate",
}


_PLAIN = replace(CHEAPEST, alternatives=0, first_fit=FirstFit.IGNORE)
"""An answer has no place for alternatives and pins."""


def solve_plan_problem(row: object, policy: Policy = _PLAIN) -> dict[str, object]:
    """The answer to a row. Raises InvalidObject for a row that is no problem, naming the first object at fault."""
    if not isinstance(row, Mapping):
        raise InvalidObject("Problem", "", "", "(line)", "want a JSON object")
    problem = cast("Mapping[str, object]", row)
    snapshot = Snapshot.build(_objects(problem))
    for key in sorted(snapshot.problems):
        raise snapshot.problems[key]
    request = problem.get("request")
    if not isinstance(request, Mapping):
        raise InvalidObject("Problem", "", str(problem.get("id", "")), "request", "want a ProvisioningRequest")
    gang = Gang.from_request(cast("Mapping[str, object]", request), snapshot)
    if isinstance(gang, InvalidGang):
        raise InvalidObject("ProvisioningRequest", "", gang.gang, "spec", gang.sentence())
    found = plan(snapshot, gang, policy)
    if isinstance(found, NoPlan):
        return {
            "id": problem.get("id"),
            "feasible": False,
            "never": found.kind is NoPlanKind.NEVER,
            "evenEmpty": found.even_empty,
            "reasons": [reason.sentence() for reason in found.reasons],
        }
    return {
        "id": problem.get("id"),
        "feasible": True,
        "cost": int(found.cost) if found.cost.is_integer() else found.cost,
        "newNodes": found.new_nodes,
        "placements": [placement_json(each) for each in found.placements],
    }


def _objects(problem: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The objects of a row; one without kind has that of its list."""
    for name, kind in _LISTS.items():
        listed = problem.get(name)
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise InvalidObject("Problem", "", str(problem.get("id", "")), name, "want a list of objects")
        for item in cast("list[object]", listed):
            if not isinstance(item, Mapping):
                raise InvalidObject("Problem", "", str(problem.get("id", "")), name, "want a list of objects")
            body = cast("Mapping[str, object]", item)
            yield body if "kind" in body else {**body, "kind": kind}
