"""Histories that together hold every event, for tests of what is done with events."""

from dataclasses import replace
from datetime import timedelta

from muster_gang_coordinator.domain.commands import (
    CancelGang,
    RecordBreak,
    RecordConfirmation,
    RecordDrift,
    RecordMemberLoss,
    RecordNodeLoss,
    RecordNodeReady,
    RecordNodeUnready,
    RecordPoolChange,
    RequestGang,
    Timer,
)
from muster_gang_coordinator.domain.plans import (
    Alternative,
    DeviceResult,
    ExistingNode,
    GroupOrder,
    NewNode,
    NoPlanKind,
    Pin,
    PinKind,
    Placement,
    Plan,
    PlannedClaim,
    Survival,
    UnplacedMember,
)
from muster_types import DeviceId, NodeName, PodSetName
from unit.muster_gang_coordinator.builders import (
    A100,
    GANG,
    H100,
    NOON,
    WRONG_NUMA,
    Story,
    a_node,
    a_plan,
    a_spec,
    on,
    why,
)


def a_rich_plan() -> Plan:
    """Every field of a plan is set."""
    device = DeviceResult("gpus", DeviceId("gpu.example.com", "n1", "gpu-0"), admin_access=True)
    shared = DeviceResult("nic/fast", DeviceId("nic.example.com", "n1", "nic-0"), False, True, (("bandwidth", "10G"),))
    disk = DeviceResult("disk", DeviceId("disk.example.com", "n1", "disk-0"))
    claims = (
        PlannedClaim("gpus", "", (device,)),
        PlannedClaim("net", "shared-net", (shared,)),
        PlannedClaim("data", "claim/ml/data", (disk,), existing=True),
    )
    return Plan(
        (
            Placement(PodSetName("leader"), 0, ExistingNode(NodeName("n1")), claims, (("cpu", "4"), ("memory", "1Gi"))),
            Placement(PodSetName("workers"), 1, NewNode(H100, 0)),
        ),
        (GroupOrder(H100, 1, 98.32),),
        cost=98.32,
        domain="rack-7",
        alternatives=(Alternative("2 nodes of a100-r2", 120.5, "dearer"),),
        lower_bound=90.0,
        pins=(
            Pin(
                PinKind.DEVICES, PodSetName("leader"), 0, ExistingNode(NodeName("n1")), "first fit takes the wrong one"
            ),
            Pin(PinKind.NODE, PodSetName("workers"), 1, NewNode(H100, 0), "it could take a later pod's place"),
        ),
        survival=Survival.PINNED,
        unplaced=(UnplacedMember(PodSetName("workers"), 2),),
        assumptions=("the rack of h100-r7 is known only after boot",),
    )


def consumed() -> Story:
    story = Story().requested(pod_count=2, workload_key="w-1/check", priority=7).booked(a_rich_plan())
    story.at(1).filled("a1-1", "x0").arrived(a_node("x0"), mismatches=(WRONG_NUMA,)).at(2).confirmed("n1", "x0")
    story.bound("ml/p0", "ml/p1")
    story.released()
    return story


def stockout() -> Story:
    story = Story().requested().booked(a_plan((H100, 3)))
    story.short("a1-1", "x0", missing=2)
    story.arrived(a_node("x0"))
    story.booked(a_plan((A100, 2), existing=("x0",)), attempt=2)
    story.cancelled("a1-1", kept=("x0",))
    story.filled("a2-1", "y0", "y1")
    story.arrived(*(a_node(f"y{i}", order="a2-1", group=A100, ordinal=i) for i in range(2)))
    return story.confirmed("x0", "y0", "y1", attempt=2)


def never() -> Story:
    story = Story().requested()
    story.refused(NoPlanKind.NEVER)
    return story


def waited_and_cancelled() -> Story:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    story.at(6).woken(Timer.RETRY)
    story.booked(a_plan((H100, 2)), attempt=2)
    story.tell(CancelGang("no more", story.now))
    story.cancelled("a2-1", "x0")
    story.released()
    story.filled("a2-1", "x0", "x1")
    story.cancelled("a2-1", "x0", "x1")
    return story


def revoked() -> Story:
    story = Story().requested(booking_duration=timedelta(seconds=90)).booked(a_plan((H100, 1), existing=("n1",)))
    story.filled("a1-1", "x0").arrived(a_node("x0")).confirmed("n1", "x0")
    story.tell(RecordNodeLoss(NodeName("x0"), story.now))
    story.refused(NoPlanKind.NOT_NOW, attempt=2)
    story.cancelled("a1-1")
    story.released()
    return story


def repaired() -> Story:
    """A node recovers, a pool changes twice, then a node does not recover; the template is edited meanwhile."""
    story = Story().requested(pod_count=2).booked(a_plan((H100, 1), existing=("n1",)))
    story.filled("a1-1", "x0").arrived(a_node("x0")).confirmed("n1", "x0")
    story.bound("ml/p0")
    story.tell(RecordMemberLoss("ml/p0", story.now))
    story.tell(RecordNodeUnready(NodeName("n1"), "kubelet stopped posting node status", story.now))
    story.tell(RecordNodeReady(NodeName("n1"), story.now))
    story.tell(RecordPoolChange("gpu.example.com", "x0", NodeName("x0"), "complete, generation 2", 7, story.now))
    story.tell(RecordConfirmation(1, on("x0", "n1"), story.now, check=1))
    story.tell(RecordDrift("PodTemplate", "worker", "hash-2", story.now))
    story.tell(RecordNodeUnready(NodeName("x0"), "kubelet stopped posting node status", story.now))
    story.at(3).woken(Timer.UNREADY)
    story.booked(a_plan((H100, 1), existing=("n1",)), attempt=2)
    story.cancelled("a1-1", "x0")
    story.filled("a2-1", "y0").arrived(a_node("y0", order="a2-1"))
    return story.confirmed("n1", "y0", attempt=2)


def held() -> Story:
    """The request is deleted while nodes arrive, and the workload's next attempt takes over."""
    story = Story().requested(workload_key="w-1/check").booked(a_plan((H100, 3)))
    story.filled("a1-1", "x0", "x1", "x2").arrived(a_node("x0"), a_node("x1", ordinal=1))
    story.tell(CancelGang("ProvisioningRequest ml/train was deleted", story.now, "uid-1", successor=True))
    adopted = a_spec(uid="uid-2", name="train-2", workload_key="w-1/check")
    story.tell(RequestGang(GANG, adopted, "request-2", story.now))
    return story


def broken_and_adopted() -> Story:
    story = Story().requested(workload_key="w-1/check").booked(a_plan((H100, 1)))
    story.arrived(a_node("x0"))
    story.tell(RecordBreak(1, (why(),), NOON))
    adopted = a_spec(uid="uid-2", name="train-2", workload_key="w-1/check")
    story.tell(RequestGang(GANG, adopted, "request-2", story.now))
    return story


def pinned() -> Story:
    """Two pods have places, a third one beyond the minimum has none; a node comes after the gang had ended."""
    pins = tuple(Pin(PinKind.NODE, PodSetName("workers"), i, NewNode(H100, i), "because") for i in range(2))
    plan = replace(
        a_plan((H100, 2)), pins=pins, survival=Survival.PINNED, unplaced=(UnplacedMember(PodSetName("workers"), 2),)
    )
    story = Story().requested(pod_count=3).booked(plan)
    story.filled("a1-1", "x0", "x1").arrived(a_node("x0"), a_node("x1", ordinal=1)).confirmed("x0", "x1")
    story.tell(CancelGang("no more", story.now))
    story.cancelled("a1-1", "x0", "x1")
    story.released()
    story.arrived(a_node("x2", ordinal=2))
    return story


STORIES = {
    "consumed": consumed,
    "stockout": stockout,
    "never": never,
    "waited-and-cancelled": waited_and_cancelled,
    "revoked": revoked,
    "repaired": repaired,
    "held": held,
    "broken-and-adopted": broken_and_adopted,
    "pinned": pinned,
}
