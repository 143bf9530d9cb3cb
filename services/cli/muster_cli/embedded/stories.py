"""The three stories of the demo: what each asks for, and how it must end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.api.capacity.v1.capacity_service_pb2 import GangView
from muster.type.v1.gang_pb2 import GangState
from muster.type.v1.plan_pb2 import NoPlanKind


@dataclass(frozen=True, slots=True)
class Story:
    """`check` gives what is wrong with the end, empty when it ended as told."""

    title: str
    told: str
    folder: str
    check: Callable[[GangView], Sequence[str]]

    def paths(self, examples: Path) -> list[str]:
        """Where its request lies."""
        return [str(examples / self.folder)]


def _new_nodes(gang: GangView) -> int:
    return sum(len(order.nodes) for order in gang.orders if order.state != "cancelled")


def _served(gang: GangView) -> list[str]:
    wrong: list[str] = []
    if gang.state != GangState.GANG_STATE_CONSUMED:
        wrong.append(f"it should have been CONSUMED, it is {GangState.Name(gang.state)}: {gang.message}")
    if len(gang.placements) != gang.pod_count or gang.bound_pods != gang.pod_count:
        wrong.append(f"{gang.bound_pods} of {gang.pod_count} pods are bound, {len(gang.placements)} are placed")
    return wrong


def _partly_new(gang: GangView) -> list[str]:
    wrong = _served(gang)
    if _new_nodes(gang) != 2:
        wrong.append(f"2 new nodes were needed, {_new_nodes(gang)} were brought")
    return wrong


def _after_stockout(gang: GangView) -> list[str]:
    wrong = _served(gang)
    if gang.attempt < 2:
        wrong.append("the cheaper group should have run short first")
    placed = {placement.node for placement in gang.placements}
    left = {node for order in gang.orders if order.state != "cancelled" for node in order.nodes} - placed
    if left:
        wrong.append(f"left over: {', '.join(sorted(left))}")
    return wrong


def _never(gang: GangView) -> list[str]:
    wrong: list[str] = []
    if gang.state != GangState.GANG_STATE_FAILED or gang.no_plan_kind != NoPlanKind.NO_PLAN_KIND_NEVER:
        wrong.append(f"it should have FAILED for ever, it is {GangState.Name(gang.state)}: {gang.message}")
    if gang.orders:
        wrong.append("nothing should have been ordered")
    return wrong


STORIES = (
    Story(
        "Story 1: partly on free devices, partly on new nodes",
        "4 pods, each 4 GPUs of one NUMA node and a NIC on the PCIe root of one of them. Two fit on free devices, two "
        "need a new node.",
        "story-1",
        _partly_new,
    ),
    Story(
        "Story 2: a stockout after 1 of 3 nodes",
        "3 pods of 8 GPUs and 8 NICs. The cheaper group runs out after one node; the other group serves, and nothing "
        "is left over.",
        "story-2",
        _after_stockout,
    ),
    Story(
        "Story 3: a shape that nobody has",
        "8 GPUs of one NUMA node. No node group will ever have them, so nothing is ordered and the answer is final.",
        "story-3",
        _never,
    ),
)
