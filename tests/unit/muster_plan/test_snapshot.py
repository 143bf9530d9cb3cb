from muster_dra import DeviceTaint
from muster_plan import BookedPod, Booking, ExistingNode, PlannedClaim, PlannedDevice, Snapshot
from muster_types import DeviceId, GangId, Nano, NodeName, ObjectKey
from unit.muster_plan.builders import (
    GPU,
    claim_spec,
    classes,
    gpus,
    named_claim,
    node,
    pod,
    request,
    snapshot_of,
)

NODE = NodeName("node-0")


def objects() -> list[dict[str, object]]:
    return [
        *classes(),
        *node("node-0", devices=gpus(4)),
        *node("node-1", devices=gpus(4)),
        pod("a", "node-0", cpu="2"),
        pod("b", "node-1", cpu="3"),
        named_claim("held", claim_spec(request("g")), namespace="other", held=[(GPU, "node-0", "gpu-1")]),
    ]


def essence(snapshot: Snapshot) -> object:
    """What a plan can see of a snapshot."""
    usage = {name: snapshot.usage(name) for name in (NODE, NodeName("node-1"))}
    pools = {key: snapshot.catalog.pools_of(each.node) for key, each in sorted(snapshot.tables.nodes.items())}
    held = [snapshot.allocated.holders(DeviceId(GPU, "node-0", f"gpu-{i}")) for i in range(4)]
    return snapshot.tables, usage, pools, held, snapshot.problems


def test_one_object_after_the_other_gives_the_same_view_as_all_at_once() -> None:
    step = Snapshot.build(())
    for each in objects():
        step = step.put(each)
    assert essence(step) == essence(Snapshot.build(objects()))
    assert essence(Snapshot.build(reversed(objects()))) == essence(step)


def test_an_object_that_goes_leaves_nothing_behind() -> None:
    grown = Snapshot.build(objects())
    less = (
        grown.remove(ObjectKey("Pod", "other", "a"))
        .remove(ObjectKey("ResourceClaim", "other", "held"))
        .remove(ObjectKey("ResourceSlice", "", f"node-1-{GPU}"))
    )
    fewer = [
        each
        for each in objects()
        if each["metadata"]["name"] not in ("a", "held", f"node-1-{GPU}")  # type: ignore[index] - plain JSON
    ]
    assert essence(less) == essence(Snapshot.build(fewer))
    assert essence(grown) == essence(Snapshot.build(objects())), "the older view has not changed"


def test_a_pod_that_moves_or_ends_frees_its_node() -> None:
    cluster = snapshot_of(node("node-0"), node("node-1"), pod("a", "node-0", cpu="2"))
    assert cluster.usage(NODE).requests["cpu"] == 2 * 10**9
    moved = cluster.put(pod("a", "node-1", cpu="2"))
    assert not moved.usage(NODE).requests
    done = pod("a", "node-1", cpu="2")
    done["status"] = {"phase": "Succeeded"}
    assert not moved.put(done).usage(NodeName("node-1")).requests


def test_an_unreadable_object_is_listed_with_field_and_reason_and_the_rest_goes_on() -> None:
    broken = {"kind": "Node", "metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": "lots"}}}
    cluster = Snapshot.build([*node("node-0"), broken])
    key = ObjectKey("Node", "", "bad")
    assert str(cluster.problems[key]).startswith("Node/bad: status.allocatable.cpu: invalid quantity 'lots'")
    assert len(cluster.tables.nodes) == 1
    healed = cluster.put({"kind": "Node", "metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": "8"}}})
    assert not healed.problems


def test_bookings_count_as_taken_until_they_are_replaced() -> None:
    cluster = snapshot_of(node("node-0", devices=gpus(2)))
    device = PlannedDevice("g", DeviceId(GPU, "node-0", "gpu-0"))
    claim = PlannedClaim("dev", "", existing=False, results=(device,))
    member = BookedPod(ExistingNode(NODE), "team", {"app": "x"}, {"cpu": Nano(3 * 10**9)}, (claim,))
    booked = cluster.with_bookings([Booking(GangId("g1"), (member,))])
    assert booked.usage(NODE).requests["cpu"] == 3 * 10**9
    assert booked.allocated.holders(device.device) == ("gang g1",)
    released = booked.with_bookings([])
    assert not released.usage(NODE).requests
    assert not released.allocated.holders(device.device)


def test_a_claim_that_booked_members_share_is_held_once() -> None:
    cluster = snapshot_of(node("node-0", devices=gpus(2)))
    device = PlannedDevice("g", DeviceId(GPU, "node-0", "gpu-0"), share=True, consumed=(("memory", Nano(10)),))
    claim = PlannedClaim("dev", "group/team/pg/dev", existing=False, results=(device,))
    members = tuple(BookedPod(ExistingNode(NODE), "team", {}, {}, (claim,)) for _ in range(3))
    booked = cluster.with_bookings([Booking(GangId("g1"), members)])
    assert len(booked.allocated.holders(device.device)) == 1


def test_a_taint_rule_reaches_devices_published_before_it() -> None:
    rule = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "down"},
        "spec": {"deviceSelector": {"driver": GPU}, "taint": {"key": "down", "effect": "NoSchedule"}},
    }
    cluster = snapshot_of(node("node-0", devices=gpus(1))).put(rule)
    (pool,) = cluster.catalog.pools_of(cluster.tables.nodes[ObjectKey("Node", "", "node-0")].node)  # type: ignore[misc] - readable
    (device,) = (device for _, device in pool.devices())
    assert device.taints == (DeviceTaint("down", "", "NoSchedule", rule="down"),)


def test_emptied_keeps_what_is_the_requesters_own() -> None:
    own = named_claim("own", claim_spec(request("g")), held=[(GPU, "node-0", "gpu-0")], reserved=3)
    cluster = snapshot_of(*(each for each in objects() if each["kind"] != "DeviceClass"), own).emptied("team")
    assert not cluster.tables.pods
    assert [key.name for key in cluster.tables.claims] == ["own"]
    assert not cluster.allocated.holders(DeviceId(GPU, "node-0", "gpu-1"))
    assert cluster.allocated.holders(DeviceId(GPU, "node-0", "gpu-0"))
