from muster_claim_matcher.domain.demand import Counter, Room, Share, demand_of
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.supplying import supply_of
from muster_claim_matcher.domain.view import Holding
from muster_plan import Snapshot, parse_pod
from muster_types import GangId, NodeName, parse_quantity
from unit.muster_claim_matcher.builders import a_claim, a_device, a_member, a_plan, on, on_new
from unit.muster_claim_matcher.objects import (
    GPU,
    a_consuming_pod,
    a_group,
    a_node,
    a_slice,
    an_allocated_claim,
    an_ordered_node,
)

LLM = GangId("llm-4f2a1c")
CPU = Room(NodeName("node-1"), "cpu")
Json = dict[str, object]


def a_mig_slice() -> Json:
    """Two halves of one board, and a device that may be shared."""
    counters = [{"counterSet": "board", "counters": {"memory": {"value": "40Gi"}}}]
    devices = [{"name": f"mig-{index}", "consumesCounters": counters} for index in range(2)]
    shared: Json = {"name": "shared", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "80Gi"}}}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-mig"},
        "spec": {
            "driver": GPU,
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 2},
            "devices": [*devices, shared],
        },
    }


def a_counter_slice() -> Json:
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-counters"},
        "spec": {
            "driver": GPU,
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 2},
            "sharedCounters": [{"name": "board", "counters": {"memory": {"value": "80Gi"}}}],
        },
    }


def a_stranger(cpu: str) -> Json:
    pod = a_consuming_pod("nothing", 0, "node-1", cpu=cpu)
    pod["metadata"] = {"name": "stranger", "namespace": "other"}
    return pod


def test_room_is_what_strangers_leave_and_what_the_gangs_own_pods_take_is_not_taken_off() -> None:
    own = a_consuming_pod("llm", 0, "node-1")
    snapshot = Snapshot.build([a_node("node-1"), a_stranger("4"), own])
    demand = demand_of([a_member(on("node-1"), resources={"cpu": "8", "example.com/gpu": "1"})])
    plan = a_plan(a_member(on("node-1"), resources={"cpu": "8"}))
    held = Holding(Booking(1, plan, plan.members, True, demand_of(plan.members)), (parse_pod(own),), None)
    assert supply_of(snapshot, demand, {}).room == {CPU: parse_quantity("52")}
    assert supply_of(snapshot, demand, {LLM: held}).room == {CPU: parse_quantity("60")}


def test_a_node_that_is_gone_gives_nothing_to_check() -> None:
    demand = demand_of([a_member(on("gone"), a_claim(a_device("gpu-0", "gone")), resources={"cpu": "8"})])
    supply = supply_of(Snapshot.build([]), demand, {})
    assert (dict(supply.room), dict(supply.draws)) == ({}, {})


def test_counters_and_shares_are_what_allocations_leave() -> None:
    taken = an_allocated_claim("taken", "node-1", ["mig-0"])
    snapshot = Snapshot.build([a_node("node-1"), a_mig_slice(), a_counter_slice(), taken])
    share = a_claim(a_device("shared"), share_of={"memory": "10Gi"})
    supply = supply_of(snapshot, demand_of([a_member(on("node-1"), a_claim(a_device("mig-1")), share)]), {})
    memory = Counter(GPU, "node-1", "board", "memory")
    assert supply.counters == {memory: parse_quantity("40Gi")}
    assert supply.draws[a_device("mig-1")] == ((memory, parse_quantity("40Gi")),)
    assert supply.shares == {Share(a_device("shared"), "memory"): parse_quantity("80Gi")}


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old = a_slice("node-1", 4)
    new = a_slice("node-1", 2, generation=2)
    new["metadata"] = {"name": "node-1-new"}
    demand = demand_of([a_member(on("node-1"), a_claim(a_device("gpu-0")))])
    assert dict(supply_of(Snapshot.build([old, new]), demand, {}).draws) == {}


def test_nodes_of_bookings_that_are_there_already_are_not_counted_off() -> None:
    plan = a_plan(a_member(on_new("h100", 0)), orders=[("h100", 1)])
    held = Holding(Booking(1, plan, plan.members, False, demand_of(plan.members, plan.orders)), (), None)
    snapshot = Snapshot.build([a_group("h100", most=4), an_ordered_node("n-0", LLM, "h100")])
    demand = demand_of([], plan.orders)
    assert supply_of(snapshot, demand, {LLM: held}).nodes == {"h100": 4}
    assert supply_of(snapshot, demand, {}).nodes == {"h100": 3}
