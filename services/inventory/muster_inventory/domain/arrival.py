"""When an ordered node has arrived: all pools that its template promises are complete (group-capacity §8.3, C1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_inventory.domain.pool import Pool, PoolState


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """Pools of a driver that the template promises and the node does not show complete yet."""

    driver: str
    wanted: int
    complete: int


def missing_pools(promised: Mapping[str, int], pools: Sequence[Pool]) -> tuple[Missing, ...]:
    """What has to be waited for, sorted by driver; empty when the node has all it promised.

    `promised` counts the pools by driver. A half updated or invalid pool of a promised driver keeps the node waiting,
    also when enough others are complete: its devices may still appear.
    """
    found: list[Missing] = []
    for driver in sorted(promised):
        of_driver = [pool for pool in pools if pool.id.driver == driver]
        complete = sum(pool.state is PoolState.COMPLETE for pool in of_driver)
        if complete < promised[driver] or complete < len(of_driver):
            found.append(Missing(driver, promised[driver], complete))
    return tuple(found)
