"""What a device must satisfy beside its own selectors: taints (§3.8) and the constraints of a claim (§3.5)."""

from collections.abc import Sequence

from support.dra_reference.objects import Json
from support.dra_reference.pools import Published

_SCALARS = ("string", "int", "bool", "version")


def tolerated(device: Published, tolerations: Sequence[Json]) -> bool:
    """Whether every taint that keeps claims away is tolerated."""
    taints = [one for one in device.json["taints"] if one.get("effect") in ("NoSchedule", "NoExecute")]
    return all(any(_tolerates(one, taint) for one in tolerations) for taint in taints)


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    operator = toleration.get("operator") or "Equal"
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return operator == "Exists" or (operator == "Equal" and same)


def concerns(constraint: Json, request: str, full_name: str) -> bool:
    """Whether a constraint covers a device of `request`, whose chosen form is `full_name`."""
    named = constraint.get("requests") or []
    return not named or request in named or full_name in named


def attribute_of(device: Published, name: str) -> Json | None:
    """By its full name, else by the bare name in the driver's own domain."""
    published = device.json.get("attributes") or {}
    domain, _, short = name.partition("/")
    if name in published:
        return published[name]
    return published.get(short) if domain == device.pool[0] else None


def allows(constraint: Json, before: Sequence[Published], device: Published, *, lists: bool) -> bool:
    """Whether the device may join those that are under the constraint already. `lists`: list values count as sets."""
    matching = constraint.get("matchAttribute")
    name = matching or constraint["distinctAttribute"]
    value = attribute_of(device, name)
    if value is None:
        return False
    earlier = [_values(attribute_of(one, name), lists=lists) for one in before]
    own = _values(value, lists=lists)
    if not earlier:
        return bool(own) or not lists
    if not own:
        return False
    return bool(own.intersection(*earlier)) if matching else own.isdisjoint(set[object]().union(*earlier))


def _values(value: Json | None, *, lists: bool) -> set[object]:
    """Values with their type; none for unknown types, and for lists where lists do not count."""
    for kind in _SCALARS:
        if value and value.get(kind) is not None:
            return {(kind, value[kind])}
        if lists and value and value.get(f"{kind}s") is not None:
            return {(kind, one) for one in value[f"{kind}s"]}
    return set()
