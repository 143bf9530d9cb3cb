"""Laws of the planner over random small clusters."""

import copy
import os
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.plan.judge import check_plan
from muster_plan import (
    CHEAPEST,
    Gang,
    NoPlan,
    NoPlanKind,
    PinKind,
    Plan,
    Policy,
    Snapshot,
    Survival,
    plan,
    solve_plan_problem,
)
from property.plan.exhaustive import least_cost
from property.plan.fleets import objects_of, problems
from property.plan.scheduler import Scheduler
from unit.muster_plan.builders import group, node

EXAMPLES = int(os.environ.get("MUSTER_EXAMPLES", "60"))

few = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
fewer = settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))


def answer_of(
    row: dict[str, Any], objects: list[dict[str, Any]] | None = None, policy: Policy = CHEAPEST
) -> Plan | NoPlan:
    snapshot = Snapshot.build(objects if objects is not None else objects_of(row))
    gang = Gang.from_request(row["request"], snapshot)
    assert isinstance(gang, Gang)
    return plan(snapshot, gang, policy)


@few
@given(problems())
def test_the_answer_is_that_of_trying_every_placement(row: dict[str, Any]) -> None:
    found, expected = answer_of(row), least_cost(row)
    if expected is None:
        assert isinstance(found, NoPlan)
    else:
        assert isinstance(found, Plan)
        assert (found.cost, found.new_nodes) == expected


@few
@given(problems())
def test_patterns_made_by_price_lead_to_the_same_answer_as_trying_every_placement(row: dict[str, Any]) -> None:
    found, expected = answer_of(row, policy=Policy(most_patterns=0)), least_cost(row)
    if expected is None:
        assert isinstance(found, NoPlan)
    else:
        assert isinstance(found, Plan)
        assert found.bound <= expected[0] == found.cost


@few
@given(problems())
def test_every_plan_is_accepted_by_the_independent_judge(row: dict[str, Any]) -> None:
    answer = solve_plan_problem(row)
    if answer["feasible"]:
        assert not check_plan(row, answer)


@few
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_objects_changes_nothing(row: dict[str, Any], rng: random.Random) -> None:
    shuffled = objects_of(row)
    rng.shuffle(shuffled)
    assert answer_of(row, shuffled) == answer_of(row)


@few
@given(problems(), st.sampled_from(("node", "room", "group")))
def test_more_capacity_never_hurts(row: dict[str, Any], what: str) -> None:
    before = answer_of(row)
    grown = copy.deepcopy(row)
    if what == "node":
        body, *slices = node("node-9", cpu="16")
        grown["nodes"].append(body)
        grown["slices"] += slices
    elif what == "room":
        for each in grown["nodeGroups"]:
            each["spec"]["maxSize"] += 2
    else:
        grown["nodeGroups"].append(group("group-9", price=4, cpu="8"))
    after = answer_of(grown)
    if isinstance(before, Plan):
        assert isinstance(after, Plan)
        assert after.cost <= before.cost


@few
@given(problems(), st.integers(2, 5))
def test_prices_scale_and_a_dearer_group_never_makes_the_plan_cheaper(row: dict[str, Any], factor: int) -> None:
    before = answer_of(row)
    scaled, dearer = copy.deepcopy(row), copy.deepcopy(row)
    for each in scaled["nodeGroups"]:
        each["spec"]["pricePerNode"] *= factor
    for each in dearer["nodeGroups"][:1]:
        each["spec"]["pricePerNode"] += factor
    if isinstance(before, Plan):
        twice, more = answer_of(scaled), answer_of(dearer)
        assert isinstance(twice, Plan)
        assert isinstance(more, Plan)
        assert twice.cost == before.cost * factor
        assert more.cost >= before.cost


@fewer
@given(problems(), st.integers(1, 30))
def test_never_stays_never_however_many_nodes_of_the_same_shapes_are_added(row: dict[str, Any], more: int) -> None:
    before = answer_of(row)
    if isinstance(before, NoPlan) and before.kind is NoPlanKind.NEVER:
        grown = copy.deepcopy(row)
        for each in grown["nodeGroups"]:
            each["spec"]["maxSize"] += more * each["spec"]["atomicUnit"]
        after = answer_of(grown)
        assert isinstance(after, NoPlan)
        assert after.kind is NoPlanKind.NEVER
        assert after.even_empty == before.even_empty


@fewer
@given(problems())
def test_a_limit_is_lifted_by_exactly_what_the_help_says(row: dict[str, Any]) -> None:
    before = answer_of(row)
    if isinstance(before, NoPlan) and before.kind is NoPlanKind.LIMIT:
        raised = copy.deepcopy(row)
        for help in before.helps:
            for each in raised["nodeGroups"]:
                if each["metadata"]["name"] in help.subjects:
                    each["spec"]["maxSize"] = int(help.text.rpartition(" to ")[2])
        assert isinstance(answer_of(raised), Plan)


@few
@given(problems(), st.randoms(use_true_random=False))
def test_a_plan_that_survives_does_so_whatever_nodes_the_scheduler_chooses(
    row: dict[str, Any], rng: random.Random
) -> None:
    found = answer_of(row)
    if not isinstance(found, Plan) or found.survival is not Survival.SURVIVES:
        return
    annotated = {
        each["metadata"]["name"] for each in row["podTemplates"] if each["template"]["metadata"]["annotations"]
    }
    for _ in range(5):
        scheduler = Scheduler(row, found)
        for each in row["request"]["spec"]["podSets"]:
            name = each["podTemplateRef"]["name"]
            racks = scheduler.racks_of(found, name) if name in annotated else None
            for _ in range(each["count"]):
                assert scheduler.place(name, rng, racks)


@few
@given(problems())
def test_a_pinned_plan_goes_through_if_its_pins_are_followed(row: dict[str, Any]) -> None:
    found = answer_of(row)
    if not isinstance(found, Plan) or found.survival is not Survival.PINNED:
        return
    if {pin.kind for pin in found.pins} == {PinKind.NODE}:
        scheduler = Scheduler(row, found)
        for pin in found.pins:
            assert scheduler.place_on(pin.pod_set, scheduler.names[pin.target])
