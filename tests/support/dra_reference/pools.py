"""The pools that a node sees (§2): generation, completeness, validity, order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from support.dra_reference.nodes import place_matches
from support.dra_reference.objects import Json

PoolName = tuple[str, str]
"""Driver and name of a pool."""


class State(Enum):
    USABLE = auto()
    INCOMPLETE = auto()
    INVALID = auto()


@dataclass
class Published:
    """A device of a pool with the slice that publishes it."""

    pool: PoolName
    slice: Json
    json: Json

    @property
    def key(self) -> tuple[str, str, str]:
        return (*self.pool, self.json["name"])

    @property
    def shared(self) -> bool:
        return bool(self.json.get("allowMultipleAllocations"))

    @property
    def place(self) -> Json:
        """Where its node fields stand."""
        return self.json if self.slice.get("perDeviceNodeSelection") else self.slice


@dataclass
class Pool:
    name: PoolName
    state: State
    devices: list[Published] = field(default_factory=list[Published])
    """Of this node's slices, in order; none unless the pool is usable."""
    elsewhere: list[Published] = field(default_factory=list[Published])
    """Of slices for other nodes: they only draw counters (§2.7)."""
    counters: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """What the counter sets declare, by set and counter, as written."""


def pools_of(node: Json, slices: Sequence[Json]) -> list[Pool]:
    """In the order in which devices are tried (§2.6). Raises Ended for a node selector that cannot be read."""
    relevant: dict[PoolName, list[Json]] = {}
    for each in slices:
        if _relevant(each, node):
            relevant.setdefault(_name(each), []).append(each)
    found: list[tuple[bool, PoolName, Pool]] = []
    for name, visible in relevant.items():
        everywhere = [each for each in slices if _name(each) == name]
        pool = _pool(name, visible, everywhere)
        if pool is not None:
            binds = any(device.json.get("bindingConditions") is not None for device in pool.devices)
            found.append((binds, name, pool))
    return [pool for _, _, pool in sorted(found, key=lambda one: one[:2])]


def _name(each: Json) -> PoolName:
    return each["spec"]["driver"], each["spec"]["pool"]["name"]


def _generation(each: Json) -> int:
    return each["spec"]["pool"].get("generation", 0)


def _relevant(each: Json, node: Json) -> bool:
    spec = each["spec"]
    matches = place_matches(spec, node)
    if matches is None and spec.get("perDeviceNodeSelection"):
        devices = [] if spec.get("sharedCounters") else spec["devices"]
        return any(place_matches(device, node) for device in devices)
    return bool(matches)


def _pool(name: PoolName, relevant: list[Json], everywhere: list[Json]) -> Pool | None:
    newest = max(map(_generation, relevant))
    visible = [each for each in relevant if _generation(each) == newest]
    local = [each for each in visible if each["spec"].get("nodeName")]
    want = (local or visible)[0]["spec"]["pool"]["resourceSliceCount"]
    whole = visible
    if len(visible) != want:
        if any(_generation(each) > newest for each in everywhere):
            return None
        whole = [each for each in everywhere if _generation(each) == newest]
        if len(whole) != want:
            return Pool(name, State.INCOMPLETE)
    devices = _devices(name, visible)
    names = [device.json["name"] for device in devices]
    elsewhere = _devices(name, [each for each in whole if each not in visible])
    sets = [one for each in whole for one in each["spec"].get("sharedCounters") or []]
    set_names = [one["name"] for one in sets]
    counters = {(one["name"], counter): value["value"] for one in sets for counter, value in one["counters"].items()}
    drawn = {pair for device in devices + elsewhere for pair in draws(device)}
    if len(set(names)) < len(names) or len(set(set_names)) < len(set_names) or not drawn <= set(counters):
        return Pool(name, State.INVALID)
    return Pool(name, State.USABLE, devices, elsewhere, counters)


def _devices(name: PoolName, slices: list[Json]) -> list[Published]:
    """A slice with counter sets has no devices (§1.14)."""
    return [
        Published(name, each["spec"], device)
        for each in sorted(slices, key=lambda one: one["metadata"]["name"])
        if not each["spec"].get("sharedCounters")
        for device in each["spec"]["devices"]
    ]


def draws(device: Published) -> dict[tuple[str, str], str]:
    """What a device takes of the counters of its pool, by set and counter, as written."""
    return {
        (one["counterSet"], counter): value["value"]
        for one in device.json.get("consumesCounters") or []
        for counter, value in one["counters"].items()
    }
