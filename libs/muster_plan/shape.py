"""Whether an arrived node has the shape its template promised (group-capacity §8.3, checks C1 to C8).

The checks explain; whether a plan still holds is decided by `verify` (C9).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster_dra import Attribute, Device, InvalidObject, PoolId, ResourceSlice
from muster_plan.eligibility import RESERVATION
from muster_plan.labels import HOSTNAME
from muster_plan.node_groups import NodeTemplate
from muster_plan.nodes import ClusterNode
from muster_plan.promised import attribute_key, promise_of
from muster_types import NodeName, format_quantity

_TEMPLATE = NodeName("template")
_OF_THE_NODE_ITSELF = frozenset({RESERVATION, "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"})


@dataclass(frozen=True, slots=True, order=True)
class ShapeMismatch:
    """One failed check: `expected` is what the template says, `actual` what the node shows."""

    check: str
    expected: str
    actual: str
    sentence: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A device with the pool it is in."""

    pool: PoolId
    device: Device

    @property
    def driver(self) -> str:
        return self.pool.driver


def compare_shape(
    template: NodeTemplate, node: ClusterNode, slices: Sequence[ResourceSlice], *, domain_label: str = ""
) -> tuple[ShapeMismatch, ...]:
    """Every promise of the template that the node does not keep; more than was promised is no mismatch.

    `slices` are those of the node itself. The value of `domain_label` is not compared: every unit brings its own.
    """
    if template.slices is None:
        promised: tuple[ResourceSlice, ...] = ()
    else:
        try:
            promised = promise_of(_TEMPLATE, template).slices
        except InvalidObject as fault:
            return (_mismatch("C1", "a template that can be read", str(fault), f"the template is invalid: {fault}"),)
    own = [each for each in slices if each.place.node_name in ("", node.name)]
    found = [
        *_pools(promised, own),
        *_devices(template, promised, own),
        *_counters(promised, own),
        *_unique(template, own),
        *_bindings(template, own),
        *_taints(template, promised, node, own),
        *_labels(template, node, domain_label),
        *_resources(template, node),
    ]
    return tuple(sorted(set(found)))


def _mismatch(check: str, expected: object, actual: object, sentence: str) -> ShapeMismatch:
    return ShapeMismatch(check, str(expected), str(actual), sentence)


def _pools(promised: Iterable[ResourceSlice], own: Sequence[ResourceSlice]) -> Iterator[ShapeMismatch]:
    wanted = Counter(pool.driver for pool in {each.pool for each in promised})
    newest = _newest(own)
    arrived = Counter(pool.driver for pool in newest)
    for driver in sorted(wanted):
        if arrived[driver] < wanted[driver]:
            text = f"{arrived[driver]} of {wanted[driver]} pools of {driver} arrived"
            yield _mismatch("C1", f"{wanted[driver]} pools of {driver}", arrived[driver], text)
    for pool in sorted(newest, key=str):
        slices = newest[pool]
        if pool.driver in wanted and len(slices) != slices[0].slice_count:
            text = f"pool {pool} is incomplete: {len(slices)} of {slices[0].slice_count} slices"
            yield _mismatch("C1", f"{slices[0].slice_count} slices of pool {pool}", len(slices), text)
        names = Counter(device.name for each in slices for device in each.devices)
        for name in sorted(name for name, count in names.items() if count > 1):
            yield _mismatch("C1", "each device once", f"{name} twice", f"pool {pool} is invalid: {name} occurs twice")


def _devices(
    template: NodeTemplate, promised: Sequence[ResourceSlice], own: Sequence[ResourceSlice]
) -> Iterator[ShapeMismatch]:
    wanted, arrived = _listed(promised), _listed(own)
    open_keys = _unknown(template)
    by_name = {(each.driver, each.device.name): each for each in arrived}
    missing = _unmatched(wanted, arrived, open_keys)
    short: Counter[str] = Counter()
    for each in missing:
        same = by_name.get((each.driver, each.device.name))
        differences = [] if same is None else list(_differences(each, same, open_keys))
        if differences:
            yield from differences
        else:
            short[each.driver] += 1
    total = Counter(each.driver for each in wanted)
    have = Counter(each.driver for each in arrived)
    for driver in sorted(short):
        found = total[driver] - short[driver]
        text = f"{found} of {total[driver]} promised devices of {driver} arrived ({have[driver]} are there in all)"
        yield _mismatch("C2", f"{total[driver]} devices of {driver}", found, text)


def _unmatched(wanted: Sequence[_Found], arrived: Sequence[_Found], open_keys: frozenset[str]) -> list[_Found]:
    """Promised devices for which none arrived: each takes its namesake, else an equal, else one that is more."""
    free = {(each.driver, each.device.name): each for each in arrived}

    def take(choose: Callable[[_Found], Iterable[_Found]], left: Sequence[_Found]) -> list[_Found]:
        without: list[_Found] = []
        for each in left:
            keeping = (one for one in choose(each) if not any(_differences(each, one, open_keys)))
            found = next(keeping, None)
            if found is None:
                without.append(each)
            else:
                del free[found.driver, found.device.name]
        return without

    def namesake(each: _Found) -> Iterable[_Found]:
        same = free.get((each.driver, each.device.name))
        return () if same is None else (same,)

    def equals(each: _Found) -> Iterable[_Found]:
        key = _class(each, open_keys)
        return (one for one in free.values() if one.driver == each.driver and _class(one, open_keys) == key)

    def more(each: _Found) -> Iterable[_Found]:
        return (one for one in free.values() if one.driver == each.driver)

    left: Sequence[_Found] = wanted
    for choose in (namesake, equals, more):
        left = take(choose, left)
    return list(left)


def _differences(wanted: _Found, found: _Found, open_keys: frozenset[str]) -> Iterator[ShapeMismatch]:
    where = f"{wanted.driver} {wanted.device.name}"
    theirs = _attributes(found)
    for name, value in sorted(_attributes(wanted).items()):
        if name not in open_keys and theirs.get(name) != value:
            actual = theirs[name].value if name in theirs else "absent"
            text = f"{where}: {name} is {actual}, the template says {value.value}"
            yield _mismatch("C3", f"{where}: {name}={value.value}", actual, text)
    for name, capacity in sorted(wanted.device.capacity.items()):
        other = found.device.capacity.get(name)
        if other is None or other.value.nano < capacity.value.nano:
            actual = "absent" if other is None else str(other.value)
            text = f"{where}: capacity {name} is {actual}, the template says {capacity.value}"
            yield _mismatch("C6", f"{where}: {name}={capacity.value}", actual, text)
    if _draws(wanted.device) != _draws(found.device):
        text = f"{where}: it draws from counters in another way than the template says"
        yield _mismatch("C6", f"{where}: {_draws(wanted.device)}", _draws(found.device), text)


def _counters(promised: Iterable[ResourceSlice], own: Iterable[ResourceSlice]) -> Iterator[ShapeMismatch]:
    arrived = {(each.pool.driver, name, key): value for each in own for name, key, value in _counter_values(each)}
    for each in promised:
        for name, key, value in _counter_values(each):
            found = arrived.get((each.pool.driver, name, key), 0)
            if found < value:
                where = f"{each.pool.driver} counter {name}/{key}"
                text = f"{where} is {format_quantity(found)}, the template says {format_quantity(value)}"
                yield _mismatch("C6", f"{where}={format_quantity(value)}", format_quantity(found), text)


def _unique(template: NodeTemplate, own: Iterable[ResourceSlice]) -> Iterator[ShapeMismatch]:
    devices = _listed(own)
    for name in template.unique_attributes:
        values = [
            each.device.attributes[key].value
            for each in devices
            if (key := attribute_key(each.device.attributes, each.driver, name)) is not None
        ]
        twice = sorted(str(value) for value, count in Counter(values).items() if count > 1)
        if twice:
            text = f"{name} should be unique, {twice[0]} occurs more than once"
            yield _mismatch("C4", f"{name} unique", ", ".join(twice), text)
        if not values:
            yield _mismatch("C4", f"{name} present", "absent", f"{name} should be unique, no device has it")


def _bindings(template: NodeTemplate, own: Iterable[ResourceSlice]) -> Iterator[ShapeMismatch]:
    devices = _listed(own)
    for binding in template.bindings:
        values: dict[str, str] = {}
        for each in devices:
            if each.device.name in binding.devices:
                key = attribute_key(each.device.attributes, each.driver, binding.attribute)
                values[each.device.name] = "absent" if key is None else str(each.device.attributes[key].value)
        for name in binding.devices:
            values.setdefault(name, "absent")
        if len(set(values.values())) > 1 or "absent" in values.values():
            members = ", ".join(binding.devices)
            shown = ", ".join(f"{name}={values[name]}" for name in sorted(values))
            text = f"{members} should share {binding.attribute}, they have {shown}"
            yield _mismatch("C5", f"{members} share {binding.attribute}", shown, text)


def _taints(
    template: NodeTemplate, promised: Iterable[ResourceSlice], node: ClusterNode, own: Iterable[ResourceSlice]
) -> Iterator[ShapeMismatch]:
    for taint in node.taints:
        if taint.blocks and taint not in template.taints and taint.key not in _OF_THE_NODE_ITSELF:
            yield _mismatch("C7", "no such taint", taint, f"the node has the taint {taint}, the template has not")
    known = {(taint.key, taint.value, taint.effect) for each in _listed(promised) for taint in each.device.taints}
    for each in _listed(own):
        for taint in each.device.taints:
            if taint.effect in ("NoSchedule", "NoExecute") and (taint.key, taint.value, taint.effect) not in known:
                text = f"{each.driver} {each.device.name} is tainted {taint.key}:{taint.effect}"
                yield _mismatch("C7", "no such taint", f"{each.device.name} {taint.key}:{taint.effect}", text)


def _labels(template: NodeTemplate, node: ClusterNode, domain_label: str) -> Iterator[ShapeMismatch]:
    for key, value in sorted(template.labels.items()):
        if key == HOSTNAME:
            continue
        found = node.labels.get(key, "")
        if found != value and not (key == domain_label and found):
            actual = found or "absent"
            yield _mismatch("C8", f"{key}={value}", actual, f"label {key} is {actual}, the template says {value}")


def _resources(template: NodeTemplate, node: ClusterNode) -> Iterator[ShapeMismatch]:
    for name, amount in sorted(template.allocatable.items()):
        found = node.allocatable.get(name, 0)
        if found < amount:
            text = f"{name} is {format_quantity(found)}, the template says {format_quantity(amount)}"
            yield _mismatch("C6", f"{name}={format_quantity(amount)}", format_quantity(found), text)


def _newest(slices: Iterable[ResourceSlice]) -> dict[PoolId, list[ResourceSlice]]:
    found: dict[PoolId, list[ResourceSlice]] = {}
    for each in slices:
        same = found.setdefault(each.pool, [])
        if same and each.generation > same[0].generation:
            same.clear()
        if not same or each.generation == same[0].generation:
            same.append(each)
    return found


def _listed(slices: Iterable[ResourceSlice]) -> list[_Found]:
    newest = _newest(slices)
    return [
        _Found(pool, device)
        for pool in sorted(newest, key=str)
        for each in sorted(newest[pool], key=lambda each: each.name)
        if not each.holds_counters
        for device in each.devices
    ]


def _unknown(template: NodeTemplate) -> frozenset[str]:
    bound = {binding.attribute for binding in template.bindings}
    return frozenset({*template.unique_attributes, *bound})


def _attributes(found: _Found) -> dict[str, Attribute]:
    """By full name; symbols of the planner are no promises."""
    return {
        (name if "/" in name else f"{found.driver}/{name}"): value
        for name, value in found.device.attributes.items()
        if not name.startswith("unknown.muster.dev/")
    }


def _class(found: _Found, open_keys: frozenset[str]) -> object:
    """What two devices must have in common to stand for each other."""
    fixed = {name: value for name, value in _attributes(found).items() if name not in open_keys}
    capacity = tuple(sorted((name, each.value.nano) for name, each in found.device.capacity.items()))
    return (found.driver, tuple(sorted(fixed.items(), key=lambda item: item[0])), capacity, _draws(found.device))


def _draws(device: Device) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        sorted((each.counter_set, name, value) for each in device.consumes for name, value in each.counters.items())
    )


def _counter_values(slice_: ResourceSlice) -> Iterator[tuple[str, str, int]]:
    for each in slice_.counter_sets:
        for name, value in sorted(each.counters.items()):
            yield each.name, name, value


def domain_mismatches(nodes: Mapping[NodeName, ClusterNode], key: str) -> tuple[ShapeMismatch, ...]:
    """C8 over a set: all nodes have one non-empty value of the label."""
    values = {name: node.labels.get(key, "") for name, node in sorted(nodes.items())}
    if len(set(values.values())) <= 1 and "" not in values.values():
        return ()
    shown = ", ".join(f"{name}={value or 'absent'}" for name, value in values.items())
    return (_mismatch("C8", f"one value of {key}", shown, f"the nodes should share {key}, they have {shown}"),)
