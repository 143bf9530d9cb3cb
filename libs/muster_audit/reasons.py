"""From the nearest miss to the reason of a verdict: shortage told apart from fragmentation, shape and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_audit.amount_words import amount_like
from muster_audit.expressions import guarded_by, mentions_of
from muster_audit.fleet import Fleet, free_counts
from muster_audit.growth import Unfit
from muster_audit.memory import Memory
from muster_audit.misses import Miss, Misses, wanted_drivers
from muster_audit.scene import Scene
from muster_audit.selector_misses import SelectorMiss, selector_miss, value_of
from muster_audit.survey import Spot, Wanted
from muster_audit.wording import counted, holders_text, listed, nodes_text
from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Allocation,
    Device,
    Fatal,
    PoolId,
    Reason,
    ReasonCode,
    UnreadableSelector,
    allocate,
)
from muster_dra.attributes import lookup
from muster_dra.counters import available, drawn
from muster_dra.node_classes import node_class_key
from muster_dra.selectors import environment_of
from muster_types import DeviceId, format_quantity, parse_quantity

_EMPTY_TRIALS = 24


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for a class of pods, in a word and a sentence, with the miss it is drawn from."""

    cause: Cause
    text: str
    miss: Miss | None = None
    selector: SelectorMiss | None = None


@dataclass(slots=True)
class Explainer:
    """`allocated` is the state that the misses are of."""

    pod: Wanted
    spots: Sequence[Spot]
    found: Misses
    fleet: Fleet
    allocated: AllocatedState
    scene: Scene

    def why(self) -> Why:
        miss = self.found.nearest
        if miss is None:
            return Why(Cause.NO_INVENTORY, "the cluster has no node")
        reason = miss.reason
        if reason is None:
            return self._room(miss)
        match reason.code:
            case ReasonCode.HELD | ReasonCode.REQUESTS_COMPETE | ReasonCode.CLAIMS_COMPETE | ReasonCode.TOO_FEW_MATCH:
                return self._short(miss, reason)
            case ReasonCode.COUNTERS_USED:
                return self._counters(miss, reason)
            case ReasonCode.CAPACITY_USED:
                return self._capacity(miss, reason)
            case ReasonCode.CLASS_MATCHES_NOTHING if miss.cause is Cause.NO_INVENTORY:
                return self._nothing(miss)
            case ReasonCode.SELECTOR_MATCHES_NOTHING | ReasonCode.CLASS_MATCHES_NOTHING:
                return self._selector(miss, reason)
            case ReasonCode.ATTRIBUTE_MISSING:
                return replace(self._plain(miss), text=self._missing_attribute(miss, reason))
            case ReasonCode.CAPACITY_POLICY:
                text = f"{self._where(miss)}{miss.text}; another identical node would not help"
                return Why(miss.cause, text, miss)
            case ReasonCode.NO_DEVICES:
                return self._nothing(miss)
            case _:
                return self._plain(miss)

    def _plain(self, miss: Miss) -> Why:
        return Why(miss.cause, f"{self._where(miss)}{miss.text}", miss)

    def _where(self, miss: Miss) -> str:
        names = [self.fleet.nodes[place].name for place in miss.places]
        return f"{nodes_text(names)}: " if names else ""

    def _room(self, miss: Miss) -> Why:
        """Room or a rule of the node is in the way, or the search itself."""
        spot = miss.spot
        short = spot.short if spot is not None else None
        if short is None or miss.cause is not Cause.SHORTAGE:
            return self._plain(miss)
        left = most = 0
        large = False
        for each in self.spots:
            if each.barrier is not None:
                continue
            for place in each.places:
                node = self.fleet.nodes[place]
                used = self.fleet.snapshot.usage(node.name).requests.get(short.resource, 0)
                here = max(node.allocatable.get(short.resource, 0) - used, 0)
                left, most = left + here, max(most, here)
                large = large or node.allocatable.get(short.resource, 0) >= short.wanted
        wanted = format_quantity(short.wanted)
        if large and left >= short.wanted:
            text = (
                f"{format_quantity(left)} {short.resource} left in total, at most {format_quantity(most)} on one node, "
                f"{wanted} wanted"
            )
            return Why(Cause.FRAGMENTATION, text, miss)
        return Why(Cause.SHORTAGE, f"{self._where(miss)}{miss.text}", miss)

    def _short(self, miss: Miss, reason: Reason) -> Why:
        """By number: does enough exist, free or at all, and would an empty node take the pod."""
        index = self._index(reason)
        free, most = self.found.free[index] if index is not None and index < len(self.found.free) else (0, 0)
        if reason.code is not ReasonCode.HELD and self.found.free and index is None:
            free, most = max(self.found.free)
        wanted = reason.wanted
        empty = self.fits_empty()
        holders = f"; held by {holders_text(reason.holders, self.scene.cluster)}" if any(reason.holders) else ""
        if not empty:
            total = self._exist(index)
            if total >= wanted > 1:
                text = f"{counted(wanted, 'device')} wanted on one node, none has so many ({total} in all)"
                return Why(Cause.TOPOLOGY_MISMATCH, f"{text}: {self._where(miss)}{miss.text}", miss)
            if reason.code is ReasonCode.TOO_FEW_MATCH:
                return Why(
                    Cause.SHORTAGE, f"{counted(wanted, 'device')} wanted, {total} of the kind exist{holders}", miss
                )
        if empty and wanted > 1 and free >= wanted:
            text = f"{free} free, largest free set on one node is {most}, {wanted} wanted"
            return Why(Cause.FRAGMENTATION, text + holders, miss)
        elsewhere = f", {free} free on all nodes" if free else ", none is free"
        if reason.code is ReasonCode.HELD:
            return Why(Cause.SHORTAGE, f"{counted(wanted, 'device')} wanted{elsewhere}{holders}", miss)
        return Why(Cause.SHORTAGE, f"{self._where(miss)}{miss.text}{elsewhere}{holders}", miss)

    def _index(self, reason: Reason) -> int | None:
        """The place of the reason's request among all requests of the pod's claims."""
        place = 0
        claims = self.pod.claims_on(self._mode())
        for claim in claims:
            for request in claim.spec.requests:
                if claim.full_name == reason.claim and reason.request.split("/")[0] == request.name:
                    return place
                place += 1
        return None

    def _mode(self) -> frozenset[str]:
        miss = self.found.nearest
        return miss.spot.by_claim if miss is not None and miss.spot is not None else frozenset()

    def _exist(self, index: int | None) -> int:
        """How many devices of the kind the open nodes have, used or not."""
        claims = self.pod.claims_on(self._mode())
        plans = self.fleet.catalog.plans(claims)
        if isinstance(plans, Fatal):
            return 0
        nothing, total = AllocatedState.empty(), 0
        for each in self.spots:
            if not each.open:
                continue
            for place in each.places:
                counts = free_counts(self.fleet.nodes[place].node, plans, self.fleet.catalog, nothing)
                if counts:
                    total += counts[index] if index is not None and index < len(counts) else max(counts)
        return total

    def fits_empty(self) -> bool:
        """Whether some open node would take the pod if nobody held a device."""
        nothing = AllocatedState.empty()
        seen: set[object] = set()
        for spot in self.spots:
            if not spot.open:
                continue
            claims = self.pod.claims_on(spot.by_claim)
            for place in spot.places:
                node = self.fleet.nodes[place].node
                key = node_class_key(node, self.fleet.catalog, nothing, claims) if claims else None
                if key in seen:
                    continue
                seen.add(key)
                if isinstance(allocate(node, claims, self.fleet.catalog, nothing), Allocation):
                    return True
                if len(seen) >= _EMPTY_TRIALS:
                    return False
        return False

    def _counters(self, miss: Miss, reason: Reason) -> Why:
        """Whether each counter that one of the devices draws is left in sum: then it lies in the wrong places."""
        text = f"{self._where(miss)}{miss.text}"
        ghosts = [
            f"{each.device.device} (held by claim {', '.join(each.claims)}) still draws although it is not published"
            for each in self.scene.cluster.ghosts.values()
            if reason.pool is not None and each.device.pool == reason.pool.name and each.known is not None
        ]
        if ghosts:
            text += f"; {listed(ghosts)}"
        device = self.scene.published.devices.get(reason.devices[0]) if reason.devices else None
        needed = (
            {counter: amount for (_, counter), amount in drawn(device.consumes, self.fleet.catalog.features)}
            if device
            else {}
        )
        left = self._counters_left(set(needed))
        if needed and all(left.get(counter, 0) >= amount for counter, amount in needed.items()) and self.fits_empty():
            return Why(Cause.FRAGMENTATION, f"{text}; there is enough in sum, spread over several devices", miss)
        return Why(Cause.COUNTERS_EXHAUSTED, text, miss)

    def _counters_left(self, names: set[str]) -> dict[str, int]:
        left: dict[str, int] = {}
        for spot in self.spots:
            for place in spot.places if spot.open else ():
                pools = self.fleet.catalog.pools_of(self.fleet.nodes[place].node)
                if isinstance(pools, UnreadableSelector):
                    continue
                for pool in pools:
                    if not pool.usable or not pool.counter_sets:
                        continue
                    for (_, counter), amount in available(
                        pool, self.allocated.use(pool.id), self.fleet.catalog.features
                    ).items():
                        if counter in names:
                            left[counter] = left.get(counter, 0) + max(amount, 0)
        return left

    def _capacity(self, miss: Miss, reason: Reason) -> Why:
        left = sum(self._left(device, reason.subject) for device in self._open_devices(reason))
        sample = self._sample(reason)
        most = amount_like(parse_quantity(reason.found_amount), sample)
        needed = amount_like(parse_quantity(reason.wanted_amount), sample)
        text = f"{self._where(miss)}{most} of {sample} {reason.subject} left, {needed} wanted"
        if any(reason.holders):
            text += f"; held by {holders_text(reason.holders, self.scene.cluster)}"
        wanted = parse_quantity(reason.wanted_amount) * reason.wanted
        if left >= wanted and self.fits_empty():
            return Why(Cause.FRAGMENTATION, f"{text}; {amount_like(left, sample)} are left in sum", miss)
        return Why(Cause.CAPACITY_EXHAUSTED, text, miss)

    def _sample(self, reason: Reason) -> str:
        """What the first of the devices publishes of the capacity, as written."""
        published = self.scene.published.devices.get(reason.devices[0]) if reason.devices else None
        capacity = published.capacity.get(reason.subject) if published is not None else None
        return capacity.value.written if capacity is not None else reason.found_amount

    def _open_devices(self, reason: Reason) -> list[DeviceId]:
        found = [
            each.reason.devices
            for each in self.found.all
            if each.reason is not None and each.reason.code is reason.code
        ]
        return list(dict.fromkeys(device for devices in found for device in devices))

    def _left(self, device: DeviceId, name: str) -> int:
        published = self.scene.published.devices.get(device)
        capacity = published.capacity.get(name) if published is not None else None
        if capacity is None:
            return 0
        use = self.allocated.use(_pool(device)).shared.get(device.device)
        return max(
            capacity.value.nano - (use.amounts or {}).get(name, 0) if use is not None else capacity.value.nano, 0
        )

    def _selector(self, miss: Miss, reason: Reason) -> Why:
        devices = self._devices_before(miss, reason)
        if not devices:
            return self._plain(miss)
        found = selector_miss(
            reason.subject, devices, self.scene.cluster.memory, environment_of(self.fleet.catalog.features)
        )
        cause = Cause.TOPOLOGY_MISMATCH if found.about_topology else miss.cause
        return Why(cause, f"{self._where(miss)}{found.sentence()}", miss, found)

    def _devices_before(self, miss: Miss, reason: Reason) -> list[tuple[DeviceId, Device]]:
        """Devices of the nodes of the miss, of the drivers that the selector speaks of where it names some."""
        found: list[tuple[DeviceId, Device]] = []
        domains = {each.domain for each in mentions_of(reason.subject)}
        for place in miss.places[:_EMPTY_TRIALS]:
            pools = self.fleet.catalog.pools_of(self.fleet.nodes[place].node)
            if isinstance(pools, UnreadableSelector):
                continue
            found += [
                (pool.id.device(device.name), device) for pool in pools if pool.usable for _, device in pool.devices()
            ]
        own = [each for each in found if each[0].driver in domains]
        return own or found

    def _missing_attribute(self, miss: Miss, reason: Reason) -> str:
        """The drivers on the nearest node of which no device has the attribute."""
        lacking: list[str] = []
        pools = self.fleet.catalog.pools_of(self.fleet.nodes[miss.places[0]].node)
        for pool in () if isinstance(pools, UnreadableSelector) else pools:
            devices = [device for _, device in pool.devices()]
            if devices and not any(lookup(device.attributes, pool.id.driver, reason.subject) for device in devices):
                lacking.append(pool.id.driver)
        if not lacking:
            return f"{self._where(miss)}{miss.text}"
        names = " and ".join(sorted(set(lacking)))
        return f"{self._where(miss)}{names} devices do not have {reason.subject}"

    def _nothing(self, miss: Miss) -> Why:
        """No device of the kind on any node: what the wanted drivers publish, or fail to."""
        if miss.rank == 0:
            others = [each for each in self.found.all if each is not miss and each.reason is not None]
            parts = [f"{self._where(each)}{each.text}" for each in others[:2]]
            return Why(Cause.NO_INVENTORY, "; ".join([miss.text, *parts]), miss)
        drivers = sorted(self.drivers())
        refused = [each for each in self.scene.cluster.refusals() if each.key.kind == "ResourceSlice"]
        named = f" of {' or '.join(drivers)}" if drivers else ""
        if refused:
            text = f"no valid slice{named}: {refused[0].key.name} was refused ({refused[0].field}: {refused[0].reason})"
            return Why(Cause.NO_INVENTORY, text, miss)
        return Why(Cause.NO_INVENTORY, f"no node publishes a device{named} that the pod could use", miss)

    def of_group(self, unfit: Unfit) -> Why:
        """The reason that a group's template gives, where the cluster itself has nothing of the kind."""
        cause, text, selector = group_reason(unfit, self.scene)
        return Why(cause, f"group {unfit.group.name}: {text}", None, selector)

    def drivers(self) -> frozenset[str]:
        """Drivers that the pod's claims name."""
        return wanted_drivers(self.pod.claims_on(self._mode()), self.fleet.catalog.classes)


def _pool(device: DeviceId) -> PoolId:
    return PoolId(device.driver, device.pool)


def group_reason(unfit: Unfit, scene: Scene) -> tuple[Cause, str, SelectorMiss | None]:
    """Why the next node of a group does not take a pod; of selectors, what the template's devices publish."""
    judged = unfit.judged
    codes = (ReasonCode.SELECTOR_MATCHES_NOTHING, ReasonCode.CLASS_MATCHES_NOTHING, ReasonCode.ALL_OF_NONE)
    if judged is None or judged.reason.code not in codes:
        return unfit.cause, unfit.text, None
    potential = scene.potentials.by_group[unfit.group.name]
    devices = [(slice_.pool.device(each.name), each) for slice_ in potential.promise.slices for each in slice_.devices]
    found = selector_miss(judged.reason.subject, devices, Memory(), environment_of(scene.snapshot.features))
    cause = Cause.TOPOLOGY_MISMATCH if found.about_topology else unfit.cause
    lacks = found.mention is not None and not found.published
    text = (
        f"template devices do not carry attribute {found.mention.name}" if found.mention and lacks else found.sentence()
    )
    return cause, text, found


def unguarded(expression: str, devices: Sequence[tuple[DeviceId, Device]]) -> list[str]:
    """Presence tests that an expression lacks: for what it names, some device does not publish, and it does not test."""
    guarded = guarded_by(expression)
    return [
        f'"{each.name}" in device.{each.part}["{each.domain}"]'
        for each in mentions_of(expression)
        if each not in guarded and any(not value_of(each, id_.driver, device) for id_, device in devices)
    ]
