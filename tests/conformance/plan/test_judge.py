"""The judge of plans finds each kind of wrong plan: a judge that accepts everything proves nothing."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from conformance.plan.judge import check_plan
from muster_plan import solve_plan_problem
from property.plan.fleets import row_of
from unit.muster_plan.builders import (
    KUEUE,
    RACK,
    ROOT,
    claim_spec,
    claim_template,
    classes,
    from_template,
    gpus,
    group,
    nics,
    node,
    pod_template,
    provisioning_request,
    request,
)

Json = dict[str, Any]


def row() -> Json:
    pair = claim_spec(request("g"), request("n", cls="nic"), match={ROOT: ["g", "n"]})
    notes = {KUEUE + "podset-required-topology": RACK}
    objects = [
        *classes(),
        *node("node-0", devices=gpus(2), nic_devices=nics(2), labels={RACK: "r1"}, cpu="4"),
        *node("node-1", devices=gpus(2), nic_devices=nics(2), labels={RACK: "r2"}, cpu="4"),
        group("h100", devices=gpus(2), nic_devices=nics(2), labels={RACK: "r1"}, room=2, price=3),
        claim_template("pair", pair),
        pod_template("worker", claims=[from_template("pair")], cpu="2", annotations=notes),
    ]
    return row_of(objects, provisioning_request(("worker", 4)))


def move(answer: Json, index: int, **target: Any) -> None:
    for key in ("node", "group", "ordinal"):
        answer["placements"][index].pop(key, None)
    answer["placements"][index] |= target


def device(answer: Json, index: int, place: int, name: str) -> None:
    answer["placements"][index]["claims"][0]["results"][place]["device"] = name


SPOILERS: dict[str, Callable[[Json], object]] = {
    "placed 2 times": lambda answer: answer["placements"].append(answer["placements"][0]),
    "pods placed": lambda answer: answer["placements"].pop(),
    "implies|imply": lambda answer: answer.update(cost=0),
    "takes": lambda answer: move(answer, 0, node="node-1"),
    "taken twice": lambda answer: (device(answer, 1, 0, "gpu-0"), device(answer, 1, 1, "nic-0")),
    "differ": lambda answer: device(answer, 0, 1, "nic-1"),
    "does not exist": lambda answer: device(answer, 0, 0, "gpu-9"),
    "cpu": lambda answer: move(answer, 2, node="node-0"),
    "units ordered": lambda answer: [
        move(answer, index, group="h100", ordinal=index) for index in range(len(answer["placements"]))
    ],
    "answered as": lambda answer: answer["placements"][0]["claims"][0]["results"].pop(),
    "nobody asked": lambda answer: answer["placements"][0]["claims"].append({"name": "more", "results": []}),
}


def test_the_judge_accepts_the_planners_own_answer() -> None:
    problem = row()
    answer = solve_plan_problem(problem)
    assert answer["feasible"]
    assert not check_plan(problem, answer)


@pytest.mark.parametrize("complaint", SPOILERS)
def test_the_judge_finds_what_was_spoiled(complaint: str) -> None:
    problem = row()
    answer = copy.deepcopy(solve_plan_problem(problem))
    SPOILERS[complaint](answer)
    faults = " ".join(check_plan(problem, answer))
    assert any(each in faults for each in complaint.split("|")), faults
