from muster_claim_matcher.domain.demand import (
    ConflictKind,
    Counter,
    Demand,
    Room,
    Share,
    Supply,
    demand_of,
    find_conflicts,
)
from muster_types import GangId, NodeGroupName, NodeName, parse_quantity
from unit.muster_claim_matcher.builders import GPU, a_claim, a_device, a_member, a_plan, on, on_new

OTHER = GangId("other-333333")
GPU0, GPU1 = a_device("gpu-0"), a_device("gpu-1")
MEMORY = Counter(GPU, "node-1", "board-0", "memory")
CPU = Room(NodeName("node-1"), "cpu")


def test_a_device_is_promised_as_a_whole_or_in_shares_not_both() -> None:
    whole = demand_of([a_member(on("node-1"), a_claim(GPU0))])
    share = demand_of([a_member(on("node-1"), a_claim(GPU0, share_of={"memory": "10Gi"}))])
    assert [conflict.kind for conflict in find_conflicts(whole, {OTHER: share}, Supply())] == [ConflictKind.DEVICE]
    assert [conflict.kind for conflict in find_conflicts(share, {OTHER: whole}, Supply())] == [ConflictKind.DEVICE]


def test_shares_of_a_device_are_added_up_against_its_capacity() -> None:
    share = demand_of([a_member(on("node-1"), a_claim(GPU0, share_of={"memory": "30Gi"}))])
    memory = Share(GPU0, "memory")
    assert find_conflicts(share, {OTHER: share}, Supply(shares={memory: parse_quantity("60Gi")})) == ()
    (conflict,) = find_conflicts(share, {OTHER: share}, Supply(shares={memory: parse_quantity("59Gi")}))
    assert conflict.sentence() == (
        "memory of device gpu.example.com/node-1/gpu-0: 60Gi would be promised of 59Gi, held by gang other-333333"
    )


def test_partitions_draw_on_the_counters_of_their_board() -> None:
    half = parse_quantity("40Gi")
    supply = Supply(counters={MEMORY: parse_quantity("79Gi")}, draws={GPU0: ((MEMORY, half),), GPU1: ((MEMORY, half),)})
    mine = demand_of([a_member(on("node-1"), a_claim(GPU0))])
    theirs = demand_of([a_member(on("node-1"), a_claim(GPU1))])
    assert find_conflicts(mine, {}, supply) == ()
    (conflict,) = find_conflicts(mine, {OTHER: theirs}, supply)
    assert (conflict.kind, conflict.holders) == (ConflictKind.COUNTER, (OTHER,))


def test_a_node_has_room_for_so_much_and_no_more() -> None:
    demand = demand_of([a_member(on("node-1"), resources={"cpu": "8"}, index=index) for index in range(2)])
    assert find_conflicts(demand, {OTHER: demand}, Supply(room={CPU: parse_quantity("32")})) == ()
    (conflict,) = find_conflicts(demand, {OTHER: demand}, Supply(room={CPU: parse_quantity("31")}))
    assert (conflict.kind, conflict.wanted, conflict.available) == (
        ConflictKind.ROOM,
        parse_quantity("32"),
        parse_quantity("31"),
    )


def test_a_claim_that_members_share_counts_once() -> None:
    members = [a_member(on("node-1"), a_claim(GPU0, shared="claim/team/one"), index=index) for index in range(3)]
    demand = demand_of(members)
    assert demand.whole == {GPU0}
    assert demand.twice == frozenset()


def test_a_plan_that_gives_one_device_to_two_of_its_own_claims_conflicts_with_itself() -> None:
    demand = demand_of([a_member(on("node-1"), a_claim(GPU0), index=index) for index in range(2)])
    (conflict,) = find_conflicts(demand, {}, Supply())
    assert conflict.sentence() == "device gpu.example.com/node-1/gpu-0 would be promised twice"


def test_admin_access_existing_allocations_and_nodes_to_come_take_nothing() -> None:
    demand = demand_of(
        [
            a_member(on("node-1"), a_claim(GPU0, admin=True)),
            a_member(on("node-1"), a_claim(GPU1, shared="claim/team/one", existing=True)),
            a_member(on_new("h100", 0), a_claim(GPU0), resources={"cpu": "8"}),
        ]
    )
    assert not demand.devices
    assert not demand.room


def test_a_group_is_not_asked_for_more_nodes_than_it_can_add() -> None:
    def ordering(count: int) -> Demand:
        return demand_of([], a_plan(orders=[("h100", count)]).orders)

    h100 = NodeGroupName("h100")
    assert find_conflicts(ordering(1), {OTHER: ordering(2)}, Supply(nodes={h100: 3})) == ()
    (conflict,) = find_conflicts(ordering(2), {OTHER: ordering(2)}, Supply(nodes={h100: 3}))
    assert conflict.sentence() == "new nodes of group h100: 4 would be promised of 3, held by gang other-333333"
