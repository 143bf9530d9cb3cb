"""Requests as the search walks them, checked before it (§3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support.dra_reference.capacity import amounts, has_room
from support.dra_reference.expressions import selected
from support.dra_reference.nodes import Ended, place_matches
from support.dra_reference.objects import Json
from support.dra_reference.pools import Pool, Published, State

LIMIT = 32


@dataclass
class Option:
    """One form of a request: what is under `exactly`, or one of `firstAvailable`."""

    request: str
    name: str
    """`req` or `req/sub`."""
    json: Json
    device_class: Json
    everything: list[Published] | None
    """What mode All has to take; None for ExactCount."""

    @property
    def need(self) -> int:
        return len(self.everything) if self.everything is not None else self.json.get("count") or 0

    @property
    def admin(self) -> bool:
        return bool(self.json.get("adminAccess"))

    @property
    def capacity(self) -> Json:
        return (self.json.get("capacity") or {}).get("requests") or {}


@dataclass
class Claim:
    requests: list[list[Option]]
    constraints: Sequence[Json]
    config: Sequence[Json]


def prepare(claim: Json, classes: Mapping[str, Json], pools: Sequence[Pool], node: Json) -> Claim:
    """Raises Ended for whatever is fatal before anything is tried."""
    devices = claim["devices"]
    requests: list[list[Option]] = []
    for request in devices["requests"]:
        name = request["name"]
        forms = [(f"{name}/{sub['name']}", sub) for sub in request.get("firstAvailable") or []]
        forms = forms or [(name, request["exactly"])]
        requests.append([_option(name, full_name, json, classes, pools, node) for full_name, json in forms])
    constraints = devices.get("constraints") or []
    for constraint in constraints:
        if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
            raise Ended("a constraint without attribute")
    if sum(min(option.need for option in options) for options in requests) > LIMIT:
        raise Ended("more than 32 devices")
    return Claim(requests, constraints, devices.get("config") or [])


def _option(
    request: str, name: str, json: Json, classes: Mapping[str, Json], pools: Sequence[Pool], node: Json
) -> Option:
    found = classes.get(json.get("deviceClassName") or "")
    if found is None:
        raise Ended("no such class")
    option = Option(request, name, json, found, None)
    if any(not (one.get("cel") or {}).get("expression") for one in _selectors(option)):
        raise Ended("a selector without expression")
    match json.get("allocationMode"):
        case "ExactCount":
            pass
        case "All":
            if any(pool.state is not State.USABLE for pool in pools):
                raise Ended("a pool is being updated or invalid")
            option.everything = [one for pool in pools for one in pool.devices if _belongs(one, option, node)]
        case _:
            raise Ended("unknown mode")
    return option


def _belongs(device: Published, option: Option, node: Json) -> bool:
    """By selectors, node and total capacity; use, taints and counters do not matter (D6)."""
    if not suits(device, option, node):
        return False
    found = amounts(device.json, option.capacity)
    return found is not None and has_room(device.json, found)


def suits(device: Published, option: Option, node: Json) -> bool:
    """Step 2 of §3.4: selectors of the class, of the request, then the device's own node fields."""
    for selector in _selectors(option):
        if not selected(selector["cel"]["expression"], device):
            return False
    return not device.slice.get("perDeviceNodeSelection") or bool(place_matches(device.json, node))


def _selectors(option: Option) -> list[Json]:
    spec = option.device_class.get("spec") or {}
    return [*(spec.get("selectors") or []), *(option.json.get("selectors") or [])]
