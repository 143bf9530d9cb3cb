"""Every event as a sentence, and what a gang is doing."""

from collections.abc import Callable

import pytest

from muster_gang_coordinator.domain.commands import CancelGang, RecordNodeLoss
from muster_gang_coordinator.domain.events import OrderCancelRecorded, OrphanFound
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.sentences import sentence
from muster_types import NodeName, ObjectKey, OrderId
from unit.muster_gang_coordinator.builders import A100, GANG, H100, NOON, WRONG_NUMA, Story, a_node, a_plan
from unit.muster_gang_coordinator.stories import STORIES


def told(story: Story) -> list[str]:
    return [sentence(event) for event in story.history]


def test_the_story_of_a_stockout_reads_as_one() -> None:
    story = Story().requested().booked(a_plan((H100, 3), existing=("n1",)))
    story.short("a1-1", "x0", missing=2)
    story.arrived(a_node("x0"))
    story.booked(a_plan((A100, 2), existing=("n1", "x0")), attempt=2)
    order = f"{GANG}-a1-1"
    assert told(story) == [
        "asked for 4 pods by ml/train",
        "plans",
        "booked 4 members on 1 existing node and 3 new of h100-r7, cost 30",
        f"ordered 3 nodes of h100-r7 ({order})",
        f"order {order} of h100-r7 is 2 short (stockout): out of stock; x0 came",
        "node x0 of h100-r7 arrived",
        "plans again (attempt 2): node group h100-r7 gave 1 of 3 nodes; without node group h100-r7; keeps x0",
        "booked 4 members on 2 existing nodes and 2 new of a100-r2, cost 20",
        f"gives back what the new plan does not use: {order} except x0",
        f"ordered 2 nodes of a100-r2 ({GANG}-a2-1)",
    ]


def test_the_story_of_a_cancelled_gang_reads_as_one() -> None:
    story = Story().requested().booked(a_plan((H100, 1))).filled("a1-1", "x0")
    story.arrived(a_node("x0"), mismatches=(WRONG_NUMA,)).confirmed("x0")
    story.bound("ml/p0", node="x0")
    story.tell(CancelGang("no more", NOON))
    story.cancelled("a1-1", "x0")
    story.released()
    order = f"{GANG}-a1-1"
    assert told(story)[4:] == [
        f"order {order} is filled: x0 on the way",
        "node x0 of h100-r7 arrived in another shape: C5 GPUs lie on other NUMA nodes",
        "every node is there; allocation runs again on the actual slices",
        "ready on x0: offered for 10 min",
        "pod ml/p0 is bound to x0",
        f"will end CANCELLED: no more; gives back order {order}, the booking",
        f"order {order} gave back x0",
        "the ledger holds nothing for it",
        "ended CANCELLED: no more",
    ]


def test_pins_pods_without_a_place_kept_nodes_and_orphans_are_told() -> None:
    sentences = told(STORIES["pinned"]())
    assert sentences[2] == (
        "booked 2 members on 2 new of h100-r7, cost 20; 1 pod beyond the minimum got no place"
        "; kube-scheduler must be told where the pods go"
    )
    assert sentences[-1] == f"node x2 of order {GANG}-a1-1 came too late and is given back"
    order = OrderId(f"{GANG}-a1-1")
    kept = OrderCancelRecorded(order, (NodeName("x1"),), (NodeName("x0"),))
    assert sentence(kept) == f"order {order} gave back x1, and keeps x0"
    assert sentence(OrderCancelRecorded(order, (), (NodeName("x0"),))) == (
        f"order {order} gave back nothing more, and keeps x0"
    )
    assert sentence(OrphanFound(order, booking=False)) == f"a node of order {order} came too late and is given back"


def a_never() -> Story:
    story = Story().requested()
    story.refused(NoPlanKind.NEVER)
    return story


def a_waiting() -> Story:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    return story


def a_lost() -> Story:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 1))).filled("a1-1", "x0")
    story.tell(RecordNodeLoss(NodeName("x0"), NOON))
    return story


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Story().requested(missing=(ObjectKey("PodTemplate", "ml", "worker"),)),
            "waits for PodTemplate ml/worker",
        ),
        (lambda: Story().requested(), "plans"),
        (a_waiting, "no plan now: 4 GPUs on one NUMA node; the closest shape has 2"),
        (
            a_never,
            "failed: no plan, never: no number of further nodes helps; "
            "4 GPUs on one NUMA node; the closest shape has 2",
        ),
        (lambda: Story().requested().booked(a_plan((H100, 2))), "0 of 2 nodes arrived (h100-r7)"),
        (a_lost, "0 of 2 nodes arrived (h100-r7, a100-r2); node group h100-r7 lost x0"),
        (lambda: Story().requested().booked(a_plan(existing=("n1",))), "checks the shape of what is there"),
        (
            lambda: Story().requested().booked(a_plan(existing=("n1",))).confirmed("n1"),
            "capacity is ready; 0 of 4 pods are bound",
        ),
    ],
)
def test_what_a_gang_is_doing_in_one_sentence(make: Callable[[], Story], text: str) -> None:
    assert progress(make().known) == text
