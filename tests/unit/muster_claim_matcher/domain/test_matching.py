import pytest

from muster_claim_matcher.domain.demand import demand_of
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.matching import list_provisionable, match_nodes, read_claims
from muster_claim_matcher.domain.view import Holding, open_view
from muster_claim_matcher.domain.views import MatchStatus
from muster_dra import InvalidObject
from muster_plan import Snapshot
from muster_types import GangId, NodeName
from unit.muster_claim_matcher.builders import a_claim, a_device, a_member, a_plan, on
from unit.muster_claim_matcher.objects import a_claim_template, a_class, a_group, a_node, a_slice

CLUSTER = Snapshot.build(
    [a_class(), a_node("node-1"), a_slice("node-1"), a_node("node-2"), a_slice("node-2", 2), a_group("h100", most=3)]
)
FOUR = read_claims([a_claim_template("four", 4)])


def test_nodes_that_can_come_first_each_part_by_name() -> None:
    found = match_nodes(CLUSTER, FOUR, (), 0)
    assert [(each.node, each.status) for each in found] == [
        ("node-1", MatchStatus.OK),
        ("node-2", MatchStatus.NONE),
    ]
    assert [result.device.device for result in found[0].claims[0].results] == [f"gpu-{index}" for index in range(4)]
    assert found[1].reasons[0].sentence


def test_only_the_nodes_asked_for_are_tried_and_an_unknown_one_is_told() -> None:
    (found,) = match_nodes(CLUSTER, FOUR, [NodeName("node-9")], 0)
    assert (found.status, found.reasons[0].sentence) == (MatchStatus.ERROR, "node node-9 is not in the cluster")


def test_the_list_is_cut() -> None:
    assert len(match_nodes(CLUSTER, FOUR, (), 1)) == 1


def test_what_is_booked_is_taken() -> None:
    plan = a_plan(*(a_member(on("node-1"), a_claim(a_device(f"gpu-{index}")), index=index) for index in (0, 4)))
    held = Holding(Booking(1, plan, plan.members, False, demand_of(plan.members)), (), None)
    view = open_view(CLUSTER, {GangId("g"): held})
    assert [each.status for each in match_nodes(view, FOUR, (), 0)] == [MatchStatus.NONE, MatchStatus.NONE]


def test_a_group_says_how_often_the_claims_fit() -> None:
    (group,) = list_provisionable(CLUSTER, FOUR)
    assert (group.headroom, group.fits_per_node, group.fits_total, group.devices_per_node) == (3, 2, 6, 8)
    assert group.template_known


def test_a_group_that_cannot_says_why() -> None:
    full = Snapshot.build([a_class(), a_group("h100", most=0)])
    (group,) = list_provisionable(full, read_claims([a_claim_template("five", 5)]))
    assert (group.headroom, group.fits_per_node) == (0, 0)
    assert group.reasons[-1].sentence == "group h100 is at 0 of at most 0 nodes"
    assert len(group.reasons) == 2


def test_a_claim_that_cannot_be_read_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match="ResourceClaim"):
        read_claims([{"kind": "ResourceClaim", "metadata": {"name": "x"}, "spec": []}])
