from muster_claim_matcher.domain.consumption import (
    AllocatedClaims,
    Unshown,
    consumed_request,
    unbound_members,
    unshown_claims,
)
from muster_dra import ResourceClaim, parse_claim
from muster_plan import Pod, parse_pod
from muster_types import ObjectKey
from unit.muster_claim_matcher.builders import a_member, on
from unit.muster_claim_matcher.objects import a_consuming_pod, an_allocated_claim

Json = dict[str, object]


def a_pod(index: int = 0, node: str = "node-1", cpu: str = "8") -> Pod:
    return parse_pod(a_consuming_pod("llm", index, node, cpu=cpu))


def claims(*objects: Json) -> AllocatedClaims:
    read = [parse_claim(obj) for obj in objects]
    return AllocatedClaims({ObjectKey("ResourceClaim", each.namespace, each.name): each for each in read})


def allocated(name: str = "llm-workers-0-gpus") -> Json:
    return an_allocated_claim(name, "node-1", ["gpu-0"])


def names(found: tuple[ResourceClaim, ...]) -> list[str]:
    return [claim.name for claim in found]


def test_a_bound_pod_is_shown_when_all_its_claims_carry_an_allocation() -> None:
    assert unshown_claims([a_pod()], claims(allocated())) == ()


def test_a_bound_pod_without_its_allocation_keeps_the_booking_and_says_so() -> None:
    (found,) = unshown_claims([a_pod()], claims())
    assert found == Unshown("team", "llm-workers-0", 1, 0)
    assert found.sentence() == "pod team/llm-workers-0: 0 of 1 claims show an allocation"


def test_a_claim_without_allocation_does_not_count() -> None:
    pending = allocated()
    del pending["status"]
    assert len(unshown_claims([a_pod()], claims(pending))) == 1


def test_pods_that_are_not_bound_or_finished_keep_nothing() -> None:
    finished = a_consuming_pod("llm", 0, "node-1")
    finished["status"] = {"phase": "Succeeded"}
    assert unshown_claims([a_pod(node=""), parse_pod(finished)], claims()) == ()


def test_a_claim_is_found_by_who_reserved_it_when_the_pod_does_not_name_it() -> None:
    pod = a_consuming_pod("llm", 0, "node-1")
    pod["status"] = {}
    claim = allocated("made-up-name")
    status = claim["status"]
    assert isinstance(status, dict)
    status["reservedFor"] = [{"resource": "pods", "name": "llm-workers-0", "uid": "u"}]
    assert names(claims(claim).of(parse_pod(pod))) == ["made-up-name"]
    assert names(claims(allocated("made-up-name")).of(parse_pod(pod))) == []


def test_a_bound_pod_takes_the_place_of_one_member_with_its_requests_on_its_node() -> None:
    members = [a_member(on("node-1"), index=index, resources={"cpu": "8"}) for index in range(2)]
    members += [a_member(on("node-2"), index=2, resources={"cpu": "8"})]
    assert unbound_members(members, []) == {("workers", 0), ("workers", 1), ("workers", 2)}
    assert unbound_members(members, [a_pod()]) == {("workers", 1), ("workers", 2)}
    assert unbound_members(members, [a_pod(0), a_pod(1)]) == {("workers", 2)}


def test_a_pod_that_matches_no_member_takes_nobodys_place() -> None:
    members = [a_member(on("node-1"), resources={"cpu": "8"})]
    assert unbound_members(members, [a_pod(cpu="7")]) == {("workers", 0)}
    assert unbound_members(members, [a_pod(node="node-2")]) == {("workers", 0)}


def test_the_newer_annotation_says_whose_capacity_a_pod_uses() -> None:
    new = "autoscaling.x-k8s.io/consume-provisioning-request"
    old = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
    assert consumed_request({old: "a", new: "b"}) == "b"
    assert consumed_request({old: "a"}) == "a"
    assert consumed_request({}) == ""
