"""Partitions: what counters still have that no free partition can draw, as after unlucky MIG layouts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_dra import AllocatedState, Catalog, Node, Pool, UnreadableSelector
from muster_types import Nano


@dataclass(frozen=True, slots=True)
class CounterWaste:
    """One counter of one pool, in nano-units: what it has, what is left, and what is left after every partition that
    still fits was taken, in order of the largest draw of this counter. `wasted` is of use to nobody."""

    pool: str
    counter_set: str
    counter: str
    total: Nano
    left: Nano
    wasted: Nano


def counter_waste(nodes: Iterable[Node], catalog: Catalog, allocated: AllocatedState) -> tuple[CounterWaste, ...]:
    """Every counter that is partly used and cannot be used up."""
    found: list[CounterWaste] = []
    for node in nodes:
        pools = catalog.pools_of(node)
        if isinstance(pools, UnreadableSelector):
            continue
        for pool in pools:
            if pool.usable and pool.counter_sets:
                found += _of_pool(pool, allocated)
    return tuple(sorted(set(found), key=lambda each: (each.pool, each.counter_set, each.counter)))


def _of_pool(pool: Pool, allocated: AllocatedState) -> Iterable[CounterWaste]:
    use = allocated.use(pool.id)
    totals = {(each.name, name): value for each in pool.counter_sets for name, value in each.counters.items()}
    left: dict[tuple[str, str], int] = dict(totals)
    free: list[Mapping[tuple[str, str], int]] = []
    for _, device in pool.devices():
        draw = {(each.counter_set, name): value for each in device.consumes for name, value in each.counters.items()}
        if use.is_allocated(device.name):
            for key, value in draw.items():
                left[key] = left.get(key, 0) - value
        elif draw:
            free.append(draw)
    for key, total in sorted(totals.items()):
        if left[key] in (0, total):
            continue
        rest = dict(left)
        for draw in sorted(free, key=lambda draw: (-draw.get(key, 0), sorted(draw.items()))):
            if all(rest.get(each, 0) >= value for each, value in draw.items()):
                for each, value in draw.items():
                    rest[each] -= value
        if rest[key] > 0:
            yield CounterWaste(str(pool.id), *key, Nano(total), Nano(left[key]), Nano(rest[key]))
