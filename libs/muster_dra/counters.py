"""Counters that partitions of one physical device share (dra-semantics §3.6)."""

from collections.abc import Iterable

from muster_dra.allocated import PoolUse
from muster_dra.features import Features
from muster_dra.objects.slices import CounterConsumption
from muster_dra.pools import Pool

Counter = tuple[str, str]
"""Counter set and counter of one pool."""


def available(pool: Pool, use: PoolUse, features: Features) -> dict[Counter, int]:
    """What the pool declares less what its allocated devices draw, in nano-units; may be negative."""
    left = {
        (counter_set.name, counter): _value(value, features)
        for counter_set in pool.counter_sets
        for counter, value in counter_set.counters.items()
    }
    devices = (*(device for _, device in pool.devices()), *pool.elsewhere)
    for device in devices:
        if device.consumes and use.is_allocated(device.name):
            for counter, amount in drawn(device.consumes, features):
                if counter in left:  # a device that is published no more may draw what the pool no longer has
                    left[counter] -= amount
    return left


def drawn(consumes: Iterable[CounterConsumption], features: Features) -> list[tuple[Counter, int]]:
    """What a device draws, counter by counter."""
    return [
        ((consumption.counter_set, counter), _value(value, features))
        for consumption in consumes
        for counter, value in consumption.counters.items()
    ]


def _value(nano: int, features: Features) -> int:
    """Upstream adds negative amounts to what is available (#141216); as documented they are no amounts at all."""
    return max(nano, 0) if features.strict else nano
