import pytest

from muster_claim_matcher.domain.demand import demand_of
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.plans import BookedPlan
from muster_claim_matcher.domain.view import Holding, to_bookings, view_for, with_real_sizes
from muster_claim_matcher.domain.wishes import Wish
from muster_plan import GroupOrder, Snapshot, parse_pod
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey
from unit.muster_claim_matcher.builders import a_claim, a_device, a_member, a_plan, on, on_new
from unit.muster_claim_matcher.objects import (
    a_claim_template,
    a_consuming_pod,
    a_group,
    a_node,
    a_pod_template,
    a_request,
    an_ordered_node,
)

LLM, OTHER = GangId("llm-4f2a1c"), GangId("other-222222")
WISH = Wish("team", "llm", a_request("llm", "workers", 2), (a_pod_template("workers", "gpus"),))
H100 = NodeGroupName("h100")


def holding(plan: BookedPlan, *, attempt: int = 1, confirmed: bool = False, wish: Wish | None = WISH) -> Holding:
    booking = Booking(attempt, plan, plan.members, confirmed, demand_of(plan.members))
    return Holding(booking, (), wish)


def taints(view: Snapshot, name: str) -> list[str]:
    node = view.node(NodeName(name))
    assert node is not None
    return [str(taint) for taint in node.taints]


def size(snapshot: Snapshot) -> int:
    group = with_real_sizes(snapshot).group(H100)
    assert group is not None
    return group.current_size


def test_nodes_that_were_ordered_count_against_the_maximum_of_a_simulated_group() -> None:
    ordered = [an_ordered_node(f"n-{index}", LLM, "h100", ordinal=index) for index in range(2)]
    declared = a_group("h100")
    declared["spec"]["currentSize"] = 1  # pyright: ignore[reportIndexIssue] -- JSON of the fixture
    assert size(Snapshot.build([declared, *ordered])) == 3


def test_another_driver_keeps_its_size_up_to_date_and_is_believed_unless_more_is_seen() -> None:
    ordered = [an_ordered_node(f"n-{index}", LLM, "h100", ordinal=index) for index in range(2)]
    for declared, expected in ((1, 2), (5, 5)):
        group = a_group("h100")
        group["spec"].update(currentSize=declared, driver={"type": "karpenter"})  # pyright: ignore[reportAttributeAccessIssue] -- JSON of the fixture
        assert size(Snapshot.build([group, *ordered])) == expected


def test_orders_that_the_cluster_does_not_show_yet_are_pending() -> None:
    plan = a_plan(a_member(on_new("h100", 0), a_claim(a_device("gpu-0", "t"))), orders=[("h100", 3)])
    bookings = {LLM: holding(plan, attempt=2)}
    shown = Snapshot.build([an_ordered_node("n-0", LLM, "h100", attempt=2), an_ordered_node("n-9", LLM, "h100")])
    (booking,) = to_bookings(bookings, shown)
    assert booking.pending == (GroupOrder(H100, 2),)  # that of attempt 1 is no node of this plan
    (confirmed,) = to_bookings({LLM: holding(plan, attempt=2, confirmed=True)}, shown)
    assert confirmed.pending == (GroupOrder(H100, 2),)  # the ledger counts them until the release


def test_a_bound_member_takes_no_room_but_its_devices_stay_booked() -> None:
    members = [
        a_member(on("node-1"), a_claim(a_device(f"gpu-{index}")), index=index, resources={"cpu": "8"})
        for index in (0, 1)
    ]
    pods = (parse_pod(a_consuming_pod("llm", 0, "node-1")),)
    held = holding(a_plan(*members))
    (booking,) = to_bookings({LLM: Holding(held.booking, pods, WISH)}, Snapshot.build([a_node("node-1")]))
    assert [bool(pod.requests) for pod in booking.pods] == [False, True]
    assert [len(pod.claims) for pod in booking.pods] == [1, 1]
    assert booking.pods[0].namespace == "team"


def test_booked_members_have_the_labels_of_their_template() -> None:
    held = holding(a_plan(a_member(on("node-1"), pod_set="workers")))
    (booking,) = to_bookings({LLM: held}, Snapshot.build([]))
    assert booking.pods[0].labels == {"job": "workers"}


def test_the_gangs_own_booking_is_left_out_of_its_view() -> None:
    bookings = {LLM: holding(a_plan(a_member(on("node-1")))), OTHER: holding(a_plan(a_member(on("node-1"))))}
    view = view_for(Snapshot.build([a_node("node-1")]), LLM, WISH, bookings, ())
    assert set(view.bookings) == {OTHER}


def test_a_reserved_node_is_for_its_gang_and_only_if_the_gang_may_use_it() -> None:
    snapshot = Snapshot.build([an_ordered_node("n-0", LLM, "h100"), an_ordered_node("n-1", LLM, "h100")])
    view = view_for(snapshot, LLM, WISH, {}, [NodeName("n-0")])
    assert taints(view, "n-0") == [f"muster.dev/gang={LLM}:NoSchedule"]
    assert taints(view, "n-1") == ["muster.dev/gang=%given-back:NoSchedule"]
    assert taints(view_for(snapshot, OTHER, WISH, {}, ()), "n-0") == [f"muster.dev/gang={LLM}:NoSchedule"]


def test_a_node_without_its_taint_is_reserved_as_long_as_its_gang_holds_a_booking() -> None:
    bare = a_node("n-0", labels={"muster.dev/gang": LLM})
    snapshot = Snapshot.build([bare])
    held = {LLM: holding(a_plan())}
    assert taints(view_for(snapshot, OTHER, WISH, held, ()), "n-0") == [f"muster.dev/gang={LLM}:NoSchedule"]
    assert taints(view_for(snapshot, OTHER, WISH, {}, ()), "n-0") == []


@pytest.mark.parametrize("observed", [True, False])
def test_templates_count_as_they_were_when_the_request_was_accepted(observed: bool) -> None:
    snapshot = Snapshot.build([a_claim_template("gpus", 8)] if observed else [])
    wish = Wish("team", "llm", WISH.request, (a_claim_template("gpus", 2),))
    view = view_for(snapshot, LLM, wish, {}, ())
    template = view.tables.claim_templates[ObjectKey("ResourceClaimTemplate", "team", "gpus")]
    request = template.spec.requests[0].exactly
    assert request is not None
    assert request.count == 2


def test_named_claims_count_as_the_cluster_shows_them() -> None:
    def named(uid: str) -> dict[str, object]:
        spec: dict[str, object] = {"devices": {"requests": []}}
        return {"kind": "ResourceClaim", "metadata": {"name": "data", "namespace": "team", "uid": uid}, "spec": spec}

    wish = Wish("team", "llm", WISH.request, (named("then"),))
    for snapshot, uid in ((Snapshot.build([named("now")]), "now"), (Snapshot.build([]), "then")):
        view = view_for(snapshot, LLM, wish, {}, ())
        claim = view.claim("team", "data")
        assert claim is not None
        assert claim.uid == uid
