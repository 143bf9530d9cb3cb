"""How much of a device's capacity a request takes, and whether the device's policy allows it (dra-semantics §3.7)."""

from collections.abc import Mapping

from muster_dra.amounts import Amount
from muster_dra.attributes import qualified
from muster_dra.features import Features
from muster_dra.objects.slices import Device, DeviceCapacity, RequestPolicy, ValidRange
from muster_types import NANO, to_integer, to_milli

_MILLI = 10**6
_INT64 = 2**63 - 1


def amounts_taken(
    device: Device, driver: str, requests: Mapping[str, Amount], features: Features
) -> Mapping[str, Amount] | None:
    """What one device gives one request, for every capacity of the device, left or not.

    None: never, because the device lacks a named capacity or its policy forbids the amount.
    """
    named = _by_published_name(device, driver, requests, features)
    if named is None:
        return None
    taken: dict[str, Amount] = {}
    for name, capacity in device.capacity.items():
        amount = _amount(named.get(name), capacity, features)
        if not _allowed(amount, capacity.policy, features):
            return None
        taken[name] = amount
    return taken


def fits(device: Device, amounts: Mapping[str, Amount], used: Mapping[str, int]) -> bool:
    """Whether the amounts are left when `used` is gone, in nano-units by capacity name."""
    return all(used.get(name, 0) + amount.nano <= device.capacity[name].value.nano for name, amount in amounts.items())


def _by_published_name(
    device: Device, driver: str, requests: Mapping[str, Amount], features: Features
) -> Mapping[str, Amount] | None:
    """The requested amounts by the name the device publishes. Upstream compares names literally (D13)."""
    named: dict[str, Amount] = {}
    published = {qualified(name, driver): name for name in device.capacity} if features.strict else {}
    for name, amount in requests.items():
        found = published.get(qualified(name, driver)) if features.strict else name
        if found is None or found not in device.capacity:
            return None
        named[found] = Amount.computed(max(amount.nano, 0)) if features.strict and amount.nano < 0 else amount
    return named


def _amount(requested: Amount | None, capacity: DeviceCapacity, features: Features) -> Amount:
    policy = capacity.policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.valid_range is not None:
        return _round_up(requested, policy.valid_range, features)
    for value in policy.valid_values:
        if value.nano >= requested.nano:
            return value
    return requested


def _allowed(amount: Amount, policy: RequestPolicy | None, features: Features) -> bool:
    if policy is None or (policy.default is not None and amount.text == policy.default.text):
        return True
    if policy.valid_range is not None:
        valid = policy.valid_range
        if valid.max is not None and amount.nano > valid.max.nano:
            return False
        if valid.step is None:
            return True
        unit = _unit(valid, features)
        return (_count(amount, unit) - _count(valid.min, unit)) % _count(valid.step, unit) == 0
    return not policy.valid_values or any(value.nano == amount.nano for value in policy.valid_values)


def _round_up(requested: Amount, valid: ValidRange, features: Features) -> Amount:
    if requested.nano < valid.min.nano:
        return valid.min
    if valid.step is None:
        return requested
    unit = _unit(valid, features)
    least, step = _count(valid.min, unit), _count(valid.step, unit)
    steps = -(-(_count(requested, unit) - least) // step)
    return Amount.computed((least + step * steps) * unit)


def _unit(valid: ValidRange, features: Features) -> int:
    """Nano-units of one unit of step arithmetic: whole numbers in 1.36, thousandths in 1.37 where they fit (D9)."""
    if not features.fractional_capacity_range:
        return NANO
    fields = [amount.nano for amount in (valid.min, valid.max, valid.step) if amount is not None]
    fits = all(value % _MILLI == 0 and abs(value) // _MILLI <= _INT64 for value in fields)
    return _MILLI if fits else NANO


def _count(amount: Amount, unit: int) -> int:
    return to_integer(amount.nano) if unit == NANO else to_milli(amount.nano)
