"""Contradictions of a dump, found and mended: slice counts that disagree, devices held but no longer published,
templates with a wrong slice count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_audit.frames import Frame
from muster_audit.memory import Memory
from muster_audit.parts import Json, items, mapping, part, parts, text, whole
from muster_dra import Device, PoolId, ResourceSlice
from muster_plan import Snapshot
from muster_types import DeviceId, ObjectKey, format_quantity, parse_quantity

_SLICE_COUNT = "resourceSliceCount"


@dataclass(frozen=True, slots=True)
class Inconsistent:
    """Slices of one generation of a pool that declare different counts: name and count of each."""

    pool: PoolId
    generation: int
    declared: tuple[tuple[str, int], ...]

    def sentence(self) -> str:
        said = ", ".join(f"{name} declares {count} slice{'s' if count != 1 else ''}" for name, count in self.declared)
        return f"{said}, same generation {self.generation} of pool {self.pool}"


@dataclass(frozen=True, slots=True)
class Ghost:
    """A device that a claim holds and no slice publishes. `known` is how an earlier dump showed it."""

    device: DeviceId
    claims: tuple[str, ...]
    known: Device | None


@dataclass(frozen=True, slots=True)
class RepairedTemplate:
    """A node group whose template is wrong: the group as it would be if the fault were mended, and the fault."""

    key: ObjectKey
    obj: Json
    fault: str


def inconsistent_pools(snapshot: Snapshot) -> dict[PoolId, Inconsistent]:
    """Pools whose newest slices do not agree on how many they are."""
    found: dict[PoolId, Inconsistent] = {}
    for pool, slices in _newest(snapshot).items():
        if len({each.slice_count for each in slices}) > 1:
            declared = tuple(sorted((each.name, each.slice_count) for each in slices))
            found[pool] = Inconsistent(pool, slices[0].generation, declared)
    return found


def _newest(snapshot: Snapshot) -> dict[PoolId, list[ResourceSlice]]:
    found: dict[PoolId, list[ResourceSlice]] = {}
    for key in sorted(snapshot.tables.slices):
        slice_ = snapshot.tables.slices[key]
        known = found.get(slice_.pool)
        if known is None or slice_.generation > known[0].generation:
            found[slice_.pool] = [slice_]
        elif slice_.generation == known[0].generation:
            known.append(slice_)
    return found


def ghosts_of(snapshot: Snapshot, memory: Memory) -> dict[DeviceId, Ghost]:
    """Allocated devices that the newest generation of their pool does not list; admin access takes nothing."""
    newest = _newest(snapshot)
    published = {pool: {device.name for each in slices for device in each.devices} for pool, slices in newest.items()}
    holders: dict[DeviceId, list[str]] = {}
    for key in sorted(snapshot.tables.claims):
        claim = snapshot.tables.claims[key]
        for result in claim.allocation.devices if claim.allocation is not None else ():
            device = result.device
            if not result.admin_access and device.device not in published.get(PoolId(device.driver, device.pool), ()):
                holders.setdefault(device, []).append(claim.full_name)
    return {device: Ghost(device, tuple(held), memory.devices.get(device)) for device, held in sorted(holders.items())}


def mended_slices(
    frame: Frame,
    snapshot: Snapshot,
    inconsistent: Mapping[PoolId, Inconsistent],
    ghosts: Mapping[DeviceId, Ghost],
) -> list[Json]:
    """Slices to put in place of the given ones.

    An inconsistent pool gets a count that it cannot reach, so that none of its devices counts in any order of the
    slices. What a ghost draws from the counters of its pool is taken off them: it still runs (k/k#140802).
    """
    drawn: dict[PoolId, dict[tuple[str, str], int]] = {}
    for device, ghost in ghosts.items():
        if ghost.known is None:
            continue
        pool = drawn.setdefault(PoolId(device.driver, device.pool), {})
        for consumption in ghost.known.consumes:
            for counter, amount in consumption.counters.items():
                place = (consumption.counter_set, counter)
                pool[place] = pool.get(place, 0) + amount
    found: list[Json] = []
    for key in sorted(snapshot.tables.slices):
        slice_ = snapshot.tables.slices[key]
        obj = frame.objects.get(key)
        if obj is None:
            continue
        if slice_.pool in inconsistent:
            obj = _with_count(obj, len(inconsistent[slice_.pool].declared) + 1)
            found.append(obj)
        if slice_.counter_sets and drawn.get(slice_.pool):
            found.append(_with_less(obj, drawn[slice_.pool]))
    return found


def _with_count(obj: Json, count: int) -> Json:
    spec = part(obj, "spec")
    return {**obj, "spec": {**spec, "pool": {**part(spec, "pool"), _SLICE_COUNT: count}}}


def _with_less(obj: Json, drawn: Mapping[tuple[str, str], int]) -> Json:
    spec = part(obj, "spec")
    sets: list[Json] = []
    for each in parts(spec, "sharedCounters"):
        counters = {
            name: {**mapping(counter), "value": _less(mapping(counter), drawn.get((text(each.get("name")), name), 0))}
            for name, counter in part(each, "counters").items()
        }
        sets.append({**each, "counters": counters})
    return {**obj, "spec": {**spec, "sharedCounters": sets}}


def _less(counter: Json, drawn: int) -> str:
    return format_quantity(max(parse_quantity(str(counter.get("value"))) - drawn, 0))


def repaired_groups(frame: Frame) -> dict[str, RepairedTemplate]:
    """Node groups whose template slices declare a wrong count, with the count mended."""
    given = dict(frame.of_kind("NodeGroup"))
    given |= {each.key: each.obj for each in frame.refused if each.key.kind == "NodeGroup" and each.obj is not None}
    found: dict[str, RepairedTemplate] = {}
    for key in sorted(given):
        if any(_SLICE_COUNT not in each.field for each in frame.refused if each.key == key):
            continue  # something else is wrong too: there is nothing that could be judged
        slices = parts(given[key], "spec", "template", "resourceSlices")
        counts: dict[tuple[str, str, int], int] = {}
        for each in slices:
            counts[_pool(each)] = counts.get(_pool(each), 0) + 1
        wrong = [
            (index, whole(part(each, "pool").get(_SLICE_COUNT)), counts[_pool(each)])
            for index, each in enumerate(slices)
            if whole(part(each, "pool").get(_SLICE_COUNT)) != counts[_pool(each)]
        ]
        if wrong:
            found[key.name] = RepairedTemplate(key, _repaired(given[key], counts), _fault(wrong))
    return found


def one_domain_groups(groups: Iterable[Json]) -> list[Json]:
    """Groups with a domainLabel and no atomicUnit, without the label: all their nodes share the template's value of it
    (shared/field/README.md), as they do of any other label."""
    found: list[Json] = []
    for group in groups:
        spec = part(group, "spec")
        if spec.get("domainLabel") and spec.get("atomicUnit") is None:
            found.append({**group, "spec": {name: value for name, value in spec.items() if name != "domainLabel"}})
    return found


def _pool(slice_: Json) -> tuple[str, str, int]:
    pool = part(slice_, "pool")
    return text(slice_.get("driver")), text(pool.get("name")), whole(pool.get("generation"))


def _repaired(group: Json, counts: Mapping[tuple[str, str, int], int]) -> Json:
    spec = part(group, "spec")
    template = part(spec, "template")
    slices = [
        {**mapping(each), "pool": {**part(mapping(each), "pool"), _SLICE_COUNT: counts[_pool(mapping(each))]}}
        for each in items(template.get("resourceSlices"))
    ]
    return {**group, "spec": {**spec, "template": {**template, "resourceSlices": slices}}}


def _fault(wrong: list[tuple[int, int, int]]) -> str:
    index, declared, actual = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    field = f"spec.template.resourceSlices[{index}].spec.pool.{_SLICE_COUNT}".replace("].spec.", "].")
    return f"{field} is {declared}, the template has {actual} slice{'s' if actual != 1 else ''} of that pool{more}"
