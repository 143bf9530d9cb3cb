"""What a device gives of its capacity to one request (§3.7)."""

from collections.abc import Mapping

from support.dra_reference.objects import Json
from support.dra_reference.quantities import NANO, nano, rounded_up

MILLI = NANO // 1000
Taken = Mapping[str, int]


def amounts(device: Json, wanted: Json) -> dict[str, int] | None:
    """Of each capacity of the device the amount in nano-units; None: a policy refuses, or a name is not known."""
    capacities = device.get("capacity") or {}
    if any(name not in capacities for name in wanted):
        return None
    found: dict[str, int] = {}
    for name, capacity in capacities.items():
        amount = _amount(capacity, wanted.get(name))
        if amount is None:
            return None
        found[name] = amount
    return found


def has_room(device: Json, amount: Taken, *taken: Taken) -> bool:
    """Whether the amounts are there beside what is taken."""
    return all(
        amount[name] + sum(each.get(name, 0) for each in taken) <= nano(capacity["value"])
        for name, capacity in (device.get("capacity") or {}).items()
    )


def _amount(capacity: Json, asked: str | None) -> int | None:
    policy = capacity.get("requestPolicy") or {}
    default = policy.get("default")
    if asked is None:
        return nano(default) if default is not None else _accepted(policy, nano(capacity["value"]))
    amount = _amount_of(policy, asked)
    as_default = default is not None and str(asked) == str(default) and amount == nano(default)
    return amount if as_default else _accepted(policy, amount)


def _amount_of(policy: Json, asked: str) -> int:
    amount = nano(asked)
    span, values = policy.get("validRange"), policy.get("validValues")
    if span:
        least = nano(span["min"])
        if amount < least:
            return least
        if span.get("step") is None:
            return amount
        unit = _unit(span)
        start, step = rounded_up(least, unit), rounded_up(nano(span["step"]), unit)
        steps = -(-(rounded_up(amount, unit) - start) // step)
        return (start + steps * step) * unit
    if values:
        return min((nano(value) for value in values if nano(value) >= amount), default=amount)
    return amount


def _accepted(policy: Json, amount: int) -> int | None:
    span, values = policy.get("validRange"), policy.get("validValues")
    if values and amount not in map(nano, values):
        return None
    if span:
        if amount < nano(span["min"]) or (span.get("max") is not None and amount > nano(span["max"])):
            return None
        if span.get("step") is not None:
            unit = _unit(span)
            over = rounded_up(amount, unit) - rounded_up(nano(span["min"]), unit)
            if over % rounded_up(nano(span["step"]), unit):
                return None
    return amount


def _unit(span: Json) -> int:
    """Milli arithmetic where the range can be said in it, else integers (§3.7.3)."""
    fits = all(nano(span[part]) % MILLI == 0 for part in ("min", "max", "step") if span.get(part) is not None)
    return MILLI if fits and nano(span["step"]) >= MILLI else NANO
