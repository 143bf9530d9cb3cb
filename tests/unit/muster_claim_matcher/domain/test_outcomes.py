"""What the planner says and the ledger keeps."""

from dataclasses import replace

from muster_claim_matcher.domain.demand import demand_of
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.outcomes import to_booked, to_plan
from muster_plan import CHEAPEST, Gang, Pin, PinKind, Plan, Snapshot, Survival, plan
from muster_types import GangId, PodSetName
from unit.muster_claim_matcher.builders import on
from unit.muster_claim_matcher.objects import (
    a_claim_template,
    a_class,
    a_node,
    a_pod_template,
    a_request,
    a_slice,
)

GANG = GangId("llm-4f2a1c")


def a_planned_gang() -> tuple[Plan, Gang, Snapshot]:
    objects = [a_class(), a_node("node-1"), a_slice("node-1", 4), a_pod_template("w", "c"), a_claim_template("c", 4)]
    snapshot = Snapshot.build(objects)
    gang = Gang.from_request(a_request("llm", "w", 1), snapshot, gang=GANG)
    assert isinstance(gang, Gang)
    answer = plan(snapshot, gang, CHEAPEST)
    assert isinstance(answer, Plan)
    return answer, gang, snapshot


def test_a_booking_keeps_what_the_plan_says_about_the_scheduler_and_gives_it_back_for_verification() -> None:
    answer, gang, snapshot = a_planned_gang()
    said = replace(
        answer,
        pins=(Pin(PinKind.NODE, PodSetName("workers"), 0, on("node-1"), "because"),),
        survival=Survival.PINNED,
        unplaced=((PodSetName("workers"), 1),),
        assumptions=("the rack is known only after boot",),
    )
    booked = to_booked(said, gang, snapshot)
    assert (booked.pins, booked.survival) == (said.pins, said.survival)
    assert (booked.unplaced, booked.assumptions) == (said.unplaced, said.assumptions)
    again = to_plan(GANG, Booking(1, booked, booked.members, confirmed=False, demand=demand_of(booked.members)))
    assert (again.pins, again.survival) == (said.pins, said.survival)
    assert (again.unplaced, again.assumptions) == (said.unplaced, said.assumptions)
    assert again.placements == said.placements


def test_a_plan_that_survives_the_scheduler_has_no_pins() -> None:
    booked = to_booked(*a_planned_gang())
    assert (booked.survival, booked.pins) == (Survival.SURVIVES, ())
