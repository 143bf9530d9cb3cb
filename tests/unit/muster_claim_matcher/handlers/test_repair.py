"""Repairs of an offer: members on lost nodes are placed anew, the others stay."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from muster_claim_matcher.domain.demand import demand_of
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.plans import BookedPlan, Refusal
from muster_claim_matcher.domain.view import Holding
from muster_claim_matcher.domain.wishes import Arrived, BookingAsked, ConfirmationAsked, Wish
from muster_claim_matcher.handlers.book import check_shown, plan_gang, plan_repair
from muster_claim_matcher.handlers.cluster import Seen
from muster_claim_matcher.handlers.confirm import judge
from muster_claim_matcher.handlers.world import ClusterWorld
from muster_eventstore import TransientError
from muster_plan import CHEAPEST, ExistingNode, NewNode, Snapshot
from muster_types import GangId, NodeGroupName, NodeName
from unit.muster_claim_matcher.objects import (
    a_claim_template,
    a_class,
    a_consuming_pod,
    a_group,
    a_node,
    a_pod_template,
    a_request,
    a_slice,
    an_allocated_claim,
)

GANG = GangId("job-111111")
RACK = "topology.kubernetes.io/rack"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
Json = Mapping[str, object]


def a_pod(*, rack: bool) -> Json:
    template = a_pod_template("w", "job-gpus")
    if rack:
        inner = template["template"]
        assert isinstance(inner, dict)
        inner["metadata"] = {"labels": {"job": "w"}, "annotations": {REQUIRED: RACK}}
    return template


def a_fleet(*nodes: str, rack: Mapping[str, str] | None = None, groups: Iterable[Json] = ()) -> list[Json]:
    racks = rack or {}
    return [
        a_class(),
        *(a_node(name, labels={RACK: racks.get(name, "r1")}) for name in nodes),
        *(a_slice(name, 4) for name in nodes),
        *groups,
    ]


def a_wish(*, rack: bool = False) -> Wish:
    return Wish("team", "job", a_request("job", "w", 2), (a_pod(rack=rack), a_claim_template("job-gpus", 4)))


def seen(objects: Iterable[Json]) -> Seen:
    return Seen(ClusterWorld(), Snapshot.build(objects), 1)


def booked(objects: list[Json], wish: Wish) -> Booking:
    """Confirmed where the planner put it."""
    planned = plan_gang(seen(objects), BookingAsked(GANG, 1, wish, (), (), 0), {}, CHEAPEST)
    assert isinstance(planned.outcome, BookedPlan)
    members = planned.outcome.members
    return Booking(1, planned.outcome, members, confirmed=True, demand=demand_of(members))


def holding(booking: Booking, objects: Iterable[Json], wish: Wish) -> dict[GangId, Holding]:
    pods = tuple(Snapshot.build(objects).tables.pods.values())
    return {GANG: Holding(booking, pods, wish)}


def repair(objects: list[Json], booking: Booking, wish: Wish, *lost: str) -> BookedPlan | Refusal:
    asked = BookingAsked(GANG, 2, wish, (), (), 0, tuple(map(NodeName, lost)))
    return plan_repair(seen(objects), asked, holding(booking, objects, wish), CHEAPEST).outcome


def places(plan: BookedPlan | Refusal) -> list[str]:
    assert isinstance(plan, BookedPlan), plan
    return [f"{m.index}@{m.target}" for m in plan.members]


def test_only_the_member_of_the_lost_node_gets_another_place() -> None:
    before = a_fleet("node-1", "node-2")
    booking = booked(before, a_wish())
    assert [f"{m.index}@{m.target}" for m in booking.members] == ["0@node-1", "1@node-2"]
    after = a_fleet("node-2", "node-3")
    assert places(repair(after, booking, a_wish(), "node-1")) == ["0@node-3", "1@node-2"]


def test_a_lost_node_that_is_still_there_is_not_used() -> None:
    fleet = a_fleet("node-1", "node-2")
    booking = booked(fleet, a_wish())
    answer = repair(fleet, booking, a_wish(), "node-1")
    assert isinstance(answer, Refusal), "there is no other node"
    assert places(repair([*fleet, *a_fleet("node-3")[1:]], booking, a_wish(), "node-1")) == ["0@node-3", "1@node-2"]


def test_devices_of_members_that_stay_are_not_given_again() -> None:
    fleet = a_fleet("node-1", "node-2")
    booking = booked(fleet, a_wish())
    answer = repair(a_fleet("node-2"), booking, a_wish(), "node-1")
    assert isinstance(answer, Refusal), "node-2 is full of its own member"


def test_a_new_node_is_ordered_for_the_lost_member_alone() -> None:
    fleet = a_fleet("node-1", "node-2", groups=[a_group("h100", devices=4)])
    booking = booked(fleet, a_wish())
    answer = repair(a_fleet("node-2", groups=[a_group("h100", devices=4)]), booking, a_wish(), "node-1")
    assert places(answer) == ["0@h100#0", "1@node-2"]
    assert isinstance(answer, BookedPlan)
    assert [(order.group, order.count) for order in answer.orders] == [("h100", 1)]


def test_the_repair_stays_in_the_domain_of_the_members_that_stay() -> None:
    rack = {"node-1": "r1", "node-2": "r1", "node-3": "r2", "node-4": "r1"}
    wish = a_wish(rack=True)
    booking = booked(a_fleet("node-1", "node-2", rack=rack), wish)
    elsewhere = a_fleet("node-2", "node-3", rack=rack)
    assert isinstance(repair(elsewhere, booking, wish, "node-1"), Refusal), "node-3 is in another rack"
    beside = a_fleet("node-2", "node-3", "node-4", rack=rack)
    assert places(repair(beside, booking, wish, "node-1")) == ["0@node-4", "1@node-2"]


def test_f21_a_member_that_runs_keeps_the_devices_that_the_cluster_shows() -> None:
    booking = booked(a_fleet("node-1", "node-2"), a_wish())
    running = [
        a_consuming_pod("job", 1, "node-2"),
        an_allocated_claim("job-workers-1-gpus", "node-2", [f"gpu-{i}" for i in range(4)]),
    ]
    after = [*a_fleet("node-2", "node-3"), *running]
    answer = repair(after, booking, a_wish(), "node-1")
    assert places(answer) == ["0@node-3", "1@node-2"]
    assert isinstance(answer, BookedPlan)
    assert all(claim.existing for claim in answer.members[1].claims), "the cluster holds them, the ledger need not"


def test_a_repair_waits_until_the_cluster_shows_what_running_members_hold() -> None:
    objects = [*a_fleet("node-2"), a_consuming_pod("job", 1, "node-2")]
    pods = Snapshot.build(objects).tables.pods.values()
    with pytest.raises(TransientError, match="0 of 1 claims show an allocation"):
        check_shown(GANG, pods, seen(objects))


def test_verification_of_a_repair_leaves_running_members_alone() -> None:
    wish = a_wish()
    booking = booked(a_fleet("node-1", "node-2"), wish)
    running = [
        a_consuming_pod("job", 1, "node-2"),
        an_allocated_claim("job-workers-1-gpus", "node-2", [f"gpu-{i}" for i in range(4)]),
    ]
    groups = [a_group("h100", devices=4)]
    plan = repair([*a_fleet("node-2", groups=groups), *running], booking, wish, "node-1")
    assert isinstance(plan, BookedPlan)
    repaired = Booking(2, plan, plan.members, confirmed=False, demand=demand_of(plan.members, plan.orders))
    arrived = [*a_fleet("node-2", "new-1", groups=groups), *running]
    asked = ConfirmationAsked(GANG, 2, (Arrived(NodeName("new-1"), NodeGroupName("h100"), 0),), 0)
    judged = judge(seen(arrived), asked, repaired, wish, holding(repaired, arrived, wish))
    assert isinstance(judged.outcome, tuple), judged.outcome
    assert [str(m.target) for m in judged.outcome] == ["new-1", "node-2"]
    assert isinstance(plan.members[0].target, NewNode)


def test_f17_a_running_member_whose_device_is_not_published_any_more_breaks_the_check_and_names_its_node() -> None:
    wish = a_wish()
    booking = booked(a_fleet("node-1", "node-2"), wish)
    running = [
        a_consuming_pod("job", 1, "node-2"),
        an_allocated_claim("job-workers-1-gpus", "node-2", [f"gpu-{i}" for i in range(4)]),
    ]
    shrunk = [a_class(), a_node("node-1"), a_node("node-2"), a_slice("node-1", 4), a_slice("node-2", 3, generation=2)]
    objects = [*shrunk, *running]
    judged = judge(
        seen(objects), ConfirmationAsked(GANG, 1, (), 0, check=1), booking, wish, holding(booking, objects, wish)
    )
    assert not isinstance(judged.outcome, tuple)
    assert dict(judged.outcome.reasons[0].facts)["nodes"] == "node-2"
    assert "gpu-3" in judged.outcome.reasons[0].sentence


def test_f17_slices_that_no_longer_hold_a_member_that_is_still_to_come_break_the_check() -> None:
    wish = a_wish()
    booking = booked(a_fleet("node-1", "node-2"), wish)
    objects: list[Json] = [
        a_class(),
        a_node("node-1"),
        a_node("node-2"),
        a_slice("node-1", 4),
        a_slice("node-2", 3, generation=2),
    ]
    judged = judge(
        seen(objects), ConfirmationAsked(GANG, 1, (), 0, check=1), booking, wish, holding(booking, objects, wish)
    )
    assert not isinstance(judged.outcome, tuple)
    assert dict(judged.outcome.reasons[0].facts)["nodes"] == "node-2"


def test_a_check_without_a_change_gives_the_same_places() -> None:
    wish = a_wish()
    fleet = a_fleet("node-1", "node-2")
    booking = booked(fleet, wish)
    asked = ConfirmationAsked(GANG, 1, (), 0, check=1)
    judged = judge(seen(fleet), asked, booking, wish, holding(booking, fleet, wish))
    assert judged.outcome == booking.members
    assert all(isinstance(m.target, ExistingNode) for m in booking.members)
    assert replace(booking, members=judged.outcome) == booking


def test_t23_a_node_with_a_device_less_than_promised_serves_a_plan_that_needs_no_more() -> None:
    wish = Wish("team", "job", a_request("job", "w", 1), (a_pod(rack=False), a_claim_template("job-gpus", 3)))
    groups = [a_group("h100", devices=4)]
    planned = plan_gang(seen(a_fleet(groups=groups)), BookingAsked(GANG, 1, wish, (), (), 0), {}, CHEAPEST)
    assert isinstance(planned.outcome, BookedPlan)
    booking = Booking(1, planned.outcome, planned.outcome.members, confirmed=False, demand=demand_of(()))
    arrived: list[Json] = [a_class(), a_node("new-1"), a_slice("new-1", 3), *groups]
    asked = ConfirmationAsked(GANG, 1, (Arrived(NodeName("new-1"), NodeGroupName("h100"), 0),), 0)
    judged = judge(seen(arrived), asked, booking, wish, holding(booking, arrived, wish))
    assert isinstance(judged.outcome, tuple), judged.outcome


def test_t49_a_device_that_arrives_with_a_taint_nobody_tolerates_does_not_count_c7() -> None:
    wish = Wish("team", "job", a_request("job", "w", 1), (a_pod(rack=False), a_claim_template("job-gpus", 4)))
    groups = [a_group("h100", devices=4)]
    planned = plan_gang(seen(a_fleet(groups=groups)), BookingAsked(GANG, 1, wish, (), (), 0), {}, CHEAPEST)
    assert isinstance(planned.outcome, BookedPlan)
    booking = Booking(1, planned.outcome, planned.outcome.members, confirmed=False, demand=demand_of(()))
    tainted = a_slice("new-1", 4)
    spec = tainted["spec"]
    assert isinstance(spec, dict)
    spec["devices"][0]["taints"] = [{"key": "gpu.example.com/unhealthy", "value": "xid", "effect": "NoSchedule"}]
    arrived: list[Json] = [a_class(), a_node("new-1"), tainted, *groups]
    asked = ConfirmationAsked(GANG, 1, (Arrived(NodeName("new-1"), NodeGroupName("h100"), 0),), 0)
    judged = judge(seen(arrived), asked, booking, wish, holding(booking, arrived, wish))
    assert not isinstance(judged.outcome, tuple)
