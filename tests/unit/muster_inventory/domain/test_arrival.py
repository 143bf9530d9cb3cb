from muster_dra.objects.slices import PoolId
from muster_inventory.domain.arrival import Missing, missing_pools
from muster_inventory.domain.pool import Pool, PoolState


def a_pool(driver: str, name: str = "n", state: PoolState = PoolState.COMPLETE) -> Pool:
    return Pool(PoolId(driver, name), state, 1, 8, None)


def test_a_node_that_shows_every_promised_pool_has_all() -> None:
    assert missing_pools({"gpu": 1, "nic": 1}, [a_pool("gpu"), a_pool("nic")]) == ()


def test_pools_that_nobody_promised_do_not_matter() -> None:
    assert missing_pools({"gpu": 1}, [a_pool("gpu"), a_pool("fpga", state=PoolState.INVALID)]) == ()
    assert missing_pools({}, [a_pool("gpu", state=PoolState.INCOMPLETE)]) == ()


def test_a_driver_that_is_not_there_yet_is_waited_for() -> None:
    assert missing_pools({"gpu": 2, "nic": 1}, [a_pool("gpu", "a")]) == (Missing("gpu", 2, 1), Missing("nic", 1, 0))


def test_f14_a_half_updated_or_invalid_pool_keeps_the_node_waiting_although_enough_are_complete() -> None:
    for state in (PoolState.INCOMPLETE, PoolState.INVALID):
        assert missing_pools({"gpu": 1}, [a_pool("gpu", "a"), a_pool("gpu", "b", state)]) == (Missing("gpu", 1, 1),)
