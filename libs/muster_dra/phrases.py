"""Names in sentences: devices with their pools where names alone are ambiguous, attributes, claims, amounts."""

from collections.abc import Iterable, Sequence

from muster_dra.amounts import Amount
from muster_dra.objects.slices import PoolId
from muster_types import DeviceId

_NAMED = 3
"""How many devices or claims a sentence names before it counts the rest."""


def counted(count: int) -> str:
    return f"{count} device" if count == 1 else f"{count} devices"


def matches_none(count: int) -> str:
    return f"matches none of the {count} devices" if count > 1 else "does not match the only device"


def listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    known = [name for name in names if name] or ["somebody"]
    rest = len(known) - _NAMED
    return ", ".join(known[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def claims_text(holders: Iterable[str]) -> str:
    known = [name for name in holders if name]
    if not known:
        return "other claims"
    return ("claim " if len(known) == 1 else "claims ") + listed(known)


def pools_text(pools: Sequence[PoolId]) -> str:
    return ("pool " if len(pools) == 1 else "pools ") + listed(map(str, pools))


def device_names(devices: Iterable[DeviceId], pools: Sequence[PoolId]) -> tuple[str, ...]:
    """`device` when one pool is concerned, `pool/device` when several are, with the driver when pools share a name."""
    if len(pools) < 2:
        return tuple(device.device for device in devices)
    ambiguous = len({pool.name for pool in pools}) < len(pools)
    return tuple(str(device) if ambiguous else f"{device.pool}/{device.device}" for device in devices)


def attribute_name(attribute: str, pools: Sequence[PoolId]) -> str:
    """Without its domain only if that is the driver of every pool concerned: a bare attribute belongs to the driver."""
    domain, _, short = attribute.rpartition("/")
    return short if pools and all(pool.driver == domain for pool in pools) else attribute


def amount_like(nano: int, like: Amount) -> Amount:
    """A computed amount written in the way of another: decimal or binary."""
    return Amount.computed(nano) if like.text.endswith("i") else Amount.decimal(nano)
