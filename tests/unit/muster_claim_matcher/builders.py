"""Values for tests of the claim-matcher; every part can be given."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from muster_claim_matcher.domain.plans import BookedPlan, Member, Order, Reason, Refusal
from muster_plan.plan_types import ExistingNode, NewNode, NoPlanKind, PlannedClaim, PlannedDevice, Target
from muster_types import DeviceId, NodeGroupName, NodeName, PodSetName, parse_quantity

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
GPU = "gpu.example.com"


def a_device(name: str, node: str = "node-1") -> DeviceId:
    return DeviceId(GPU, node, name)


def on(node: str) -> ExistingNode:
    return ExistingNode(NodeName(node))


def on_new(group: str, ordinal: int) -> NewNode:
    return NewNode(NodeGroupName(group), ordinal)


def a_claim(
    *devices: DeviceId,
    name: str = "gpus",
    shared: str = "",
    existing: bool = False,
    admin: bool = False,
    share_of: Mapping[str, str] | None = None,
) -> PlannedClaim:
    consumed = tuple((capacity, parse_quantity(amount)) for capacity, amount in sorted((share_of or {}).items()))
    return PlannedClaim(
        name,
        shared,
        existing,
        tuple(
            PlannedDevice("gpu", device, admin_access=admin, share=share_of is not None, consumed=consumed)
            for device in devices
        ),
    )


def a_member(
    target: Target, *claims: PlannedClaim, index: int = 0, pod_set: str = "workers", resources: Mapping[str, str] = {}
) -> Member:
    amounts = tuple((name, parse_quantity(amount)) for name, amount in sorted(resources.items()))
    return Member(PodSetName(pod_set), index, target, claims, amounts)


def a_plan(*members: Member, orders: Sequence[tuple[str, int]] = ()) -> BookedPlan:
    return BookedPlan(
        members,
        tuple(Order(NodeGroupName(group), count, 98.5) for group, count in orders),
        cost=98.5 * sum(count for _, count in orders),
        new_nodes=sum(count for _, count in orders),
    )


def a_refusal(kind: NoPlanKind = NoPlanKind.NOT_NOW, sentence: str = "all devices are held") -> Refusal:
    return Refusal(kind, (Reason("CAPACITY", sentence),), even_empty=False)
