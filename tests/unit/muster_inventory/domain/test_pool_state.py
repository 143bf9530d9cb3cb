from collections.abc import Sequence
from itertools import permutations

from muster_dra.objects.slices import CounterConsumption, Device, NodePlace, PoolId, ResourceSlice
from muster_inventory.domain.pool import PoolState
from muster_inventory.domain.pool_state import judge_pool
from muster_types import Nano

ID = PoolId("gpu.example.com", "n")


def a_slice(
    name: str, devices: Sequence[str | Device] = (), *, generation: int = 1, count: int = 1, node: str = "n"
) -> ResourceSlice:
    made = tuple(each if isinstance(each, Device) else Device(each) for each in devices)
    return ResourceSlice(name, ID, generation, count, NodePlace(node_name=node), devices=made)


def test_no_slice_is_no_pool() -> None:
    assert judge_pool(ID, []) is None


def test_only_the_newest_generation_counts_v1() -> None:
    pool = judge_pool(ID, [a_slice("old", ["a", "b"], generation=1), a_slice("new", ["a"], generation=2)])
    assert pool is not None
    assert (pool.state, pool.generation, pool.device_count) == (PoolState.COMPLETE, 2, 1)


def test_t20_a_pool_is_complete_only_when_all_its_slices_are_there_v2() -> None:
    half = judge_pool(ID, [a_slice("a", ["x"], count=2)])
    whole = judge_pool(ID, [a_slice("a", ["x"], count=2), a_slice("b", ["y"], count=2)])
    assert half is not None
    assert whole is not None
    assert (half.state, whole.state) == (PoolState.INCOMPLETE, PoolState.COMPLETE)
    assert half.flaw is not None
    assert half.flaw.sentence == "pool gpu.example.com/n half updated: 1 of 2 slices of generation 1"
    assert whole.flaw is None


def test_t21_a_newer_generation_for_another_node_makes_our_slice_obsolete() -> None:
    ours, theirs = a_slice("ours", ["a"], generation=2), a_slice("theirs", ["b", "c"], generation=3, node="m")
    pool = judge_pool(ID, [ours, theirs])
    assert pool is not None
    assert (pool.generation, pool.device_count, pool.node) == (3, 2, "m")


def test_t22_a_device_that_is_published_twice_makes_the_pool_invalid_v4() -> None:
    pool = judge_pool(ID, [a_slice("a", ["x"], count=2), a_slice("b", ["x"], count=2)])
    assert pool is not None
    assert (pool.state, pool.flaw and pool.flaw.code) == (PoolState.INVALID, "DUPLICATE_DEVICE")


def test_a_counter_that_does_not_exist_makes_the_pool_invalid_v4() -> None:
    device = Device("x", consumes=(CounterConsumption("board", {"memory": Nano(1)}),))
    pool = judge_pool(ID, [a_slice("a", [device])])
    assert pool is not None
    assert pool.state is PoolState.INVALID


def test_a_pool_belongs_to_a_node_when_all_its_slices_do() -> None:
    own = judge_pool(ID, [a_slice("a", ["x"])])
    shared = judge_pool(ID, [a_slice("a", ["x"], count=2), a_slice("b", ["y"], count=2, node="m")])
    assert own is not None
    assert shared is not None
    assert (own.node, shared.node) == ("n", None)


def test_the_order_of_slices_does_not_matter() -> None:
    slices = [a_slice("a", ["x"], count=2), a_slice("b", ["y", "z"], count=2), a_slice("c", ["q"], generation=0)]
    assert len({judge_pool(ID, order) for order in permutations(slices)}) == 1
