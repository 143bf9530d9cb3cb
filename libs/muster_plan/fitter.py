"""Whether pods fit on one node together: devices are asked of the allocator, room is arithmetic."""

from collections.abc import Callable, Hashable, Iterator, Sequence

from muster_dra import (
    AllocatedState,
    Allocation,
    ClaimSpec,
    Fatal,
    FatalKind,
    Outcome,
    ResourceClaim,
    UnreadableSelector,
    allocate,
)
from muster_plan.eligibility import conflicts
from muster_plan.extended import ENTRY
from muster_plan.gang import OwnClaim
from muster_plan.kinds import Kind
from muster_plan.labels import HOSTNAME
from muster_plan.patterns import Asked, Counts, Flags, Pattern
from muster_plan.stocks import Scene, Stock
from muster_types import DeviceId

_MOST_COLUMNS = 15_000  # patterns of all stocks together, as far as can be told before
_LEAST_PATTERNS = 40  # of one stock, however many stocks there are


class Fitter:
    """Answers whether pods fit on a node of a stock, and with which devices. Remembers every answer.

    `partial`: the stocks of which only a selection of patterns was listed. `doubtful`: the allocator gave up somewhere,
    or a rule is kept more strictly than the scheduler would. In both cases a no of the programme is not proven.
    """

    def __init__(self, scene: Scene, flags: Flags, stocks: int = 1, most_patterns: int = 1_000) -> None:
        self.scene = scene
        self.flags = flags
        self.partial: set[int] = set()
        self.doubtful = bool(scene.host_spreads)
        self.most_patterns = min(most_patterns, max(_MOST_COLUMNS // max(stocks, 1), _LEAST_PATTERNS))
        self._device_answers: dict[Hashable, bool] = {}
        self._forms: list[ClaimSpec] = []
        self._demands: dict[Hashable, tuple[int, ...]] = {}
        self._conflicts = conflicts(scene.kinds, HOSTNAME)
        self._narrowed: Callable[[Stock, Counts], bool] | None = None

    @property
    def incomplete(self) -> bool:
        return bool(self.partial) or self.doubtful

    def narrow(self, condition: Callable[[Stock, Counts], bool]) -> None:
        """From now on a pattern must meet a further condition."""
        self._narrowed = condition

    def fits(self, stock: Stock, counts: Counts, flags: frozenset[int]) -> bool:
        """Whether these pods fit together. Every kind must have its flags, none may be blocked."""
        for kind, count in zip(self.scene.kinds, counts, strict=True):
            if count and (stock.blocked[kind.index] is not None or not self.flags.of_kind[kind.index] <= flags):
                return False
        if not (self.apart(stock, counts) and self.room_fits(stock, counts) and self._devices(stock, counts, flags)):
            return False
        return self._narrowed is None or self._narrowed(stock, counts)

    def apart(self, stock: Stock, counts: Counts) -> bool:
        """Whether these pods may share a node: none refuses another, no spread over hosts is exceeded."""
        if any(counts[a] > 1 if a == b else counts[a] and counts[b] for a, b in self._conflicts):
            return False
        return all(
            not counts[each.kind] or seen + sum(counts[kind] for kind in each.counted) <= each.ceiling
            for each, seen in zip(self.scene.host_spreads, stock.seen, strict=True)
        )

    def room_cap(self, stock: Stock, kind: Kind) -> int:
        """How many pods of one kind room alone would allow."""
        if stock.blocked[kind.index] is not None:
            return 0
        cap = kind.count
        for resource, amount in kind.requests.items():
            if amount > 0 and resource not in stock.by_claim[kind.index]:
                cap = min(cap, stock.free.get(resource, 0) // amount)
        if (kind.index, kind.index) in self._conflicts:
            cap = min(cap, 1)
        return cap - cap % kind.slice_size

    def asked(self, stock: Stock, counts: Counts, flags: frozenset[int]) -> list[Asked]:
        """The claims of these pods in the order in which they are put to the allocator."""
        potential = stock.potential
        found: list[Asked] = []
        if potential is not None:
            for index, spec in enumerate(potential.daemons):
                found.append(Asked(self._claim(f"daemon-{index}", spec, stock), None, index, "", ""))
        for flag in sorted(flags):
            claim = self.flags.claims[flag]
            if claim is not None:
                found.append(Asked(self._claim(claim.id, claim.spec, stock), None, 0, "", claim.id))
        for kind, count in zip(self.scene.kinds, counts, strict=True):
            specs = self._own_specs(kind, stock)
            for copy in range(count):
                for entry, spec in specs:
                    name = f"{kind.name}-{copy}-{entry}"
                    found.append(Asked(self._claim(name, spec, stock), kind.index, copy, entry, ""))
        return found

    def allocate(self, stock: Stock, asked: Sequence[Asked]) -> Outcome:
        return self.answer(stock, [each.claim for each in asked])

    def answer(self, stock: Stock, claims: Sequence[ResourceClaim], *, empty: bool = False) -> Outcome:
        """`empty`: as if nobody held any device."""
        allocated = AllocatedState.from_claims(()) if empty else stock.allocated
        return allocate(stock.node, claims, stock.catalog, allocated)

    def free_devices(self, stock: Stock) -> int:
        """Devices of the node that nobody holds, in usable pools."""
        pools = stock.catalog.pools_of(stock.node)
        if isinstance(pools, UnreadableSelector):
            return 0
        return sum(
            1
            for pool in pools
            if pool.usable
            for slice_, device in pool.devices()
            if slice_.place.node_name and not stock.allocated.use(pool.id).is_allocated(device.name)
        )

    def devices_taken(self, stock: Stock, pattern: Pattern) -> int:
        """How many devices the pods of a pattern ask for."""
        asked = self.asked(stock, pattern.counts, pattern.flags)
        return sum(_devices_of(each.claim.spec) for each in asked if not each.daemon)

    def device_shares(self, stocks: Sequence[Stock], kinds: Sequence[int]) -> dict[int, float] | None:
        """Which part of a node's free devices a pod of each kind takes at least; None where devices can be shared or
        lie on the network, so that counting them says nothing."""
        if any(self._countless(stock) for stock in stocks):
            return None
        free = max(self.free_devices(stock) for stock in stocks)
        if not free:
            return None
        found: dict[int, float] = {}
        for index in kinds:
            specs = self._own_specs(self.scene.kinds[index], stocks[0])
            found[index] = sum(_least_devices(spec) for _, spec in specs) / free
        return found

    def _countless(self, stock: Stock) -> bool:
        pools = stock.catalog.pools_of(stock.node)
        return isinstance(pools, UnreadableSelector) or any(
            not slice_.place.node_name or device.allow_multiple_allocations
            for pool in pools
            for slice_, device in pool.devices()
        )

    def attribute(self, stock: Stock, device: DeviceId, attribute: str) -> str:
        """A device's value of an attribute as text, empty if it has none or nobody knows it yet."""
        domain, _, own = attribute.partition("/")
        pools = stock.catalog.pools_of(stock.node)
        if isinstance(pools, UnreadableSelector):
            return ""
        for pool in pools:
            if (pool.id.driver, pool.id.name) != (device.driver, device.pool):
                continue
            for _, each in pool.devices():
                if each.name == device.device:
                    value = each.attributes.get(attribute)
                    if value is None and domain == device.driver:
                        value = each.attributes.get(own)
                    known = stock.potential is None or attribute not in stock.potential.promise.bound
                    return str(value.value) if value is not None and known else ""
        return ""

    def _demand_of(self, kind: Kind, by_claim: frozenset[str]) -> tuple[int, ...]:
        """The claims of a pod by form: claims that ask for the same are one form, whoever makes them."""
        key = (kind.index, by_claim)
        found = self._demands.get(key)
        if found is None:
            specs = [spec for _, spec in self._own_specs_by(kind, by_claim)]
            found = self._demands[key] = tuple(map(self._form, specs))
        return found

    def _form(self, spec: ClaimSpec) -> int:
        for index, known in enumerate(self._forms):
            if known.requests == spec.requests and known.constraints == spec.constraints:
                return index
        self._forms.append(spec)
        return len(self._forms) - 1

    def _own_specs(self, kind: Kind, stock: Stock) -> list[tuple[str, ClaimSpec]]:
        return self._own_specs_by(kind, stock.by_claim[kind.index])

    def _own_specs_by(self, kind: Kind, by_claim: frozenset[str]) -> list[tuple[str, ClaimSpec]]:
        specs = [(claim.entry, claim.spec) for claim in kind.pod_set.claims if isinstance(claim, OwnClaim)]
        if by_claim:
            specs.append((ENTRY, kind.extended_spec(by_claim)))
        return specs

    def _claim(self, name: str, spec: ClaimSpec, stock: Stock) -> ResourceClaim:
        careful = spec if stock.potential is None else stock.potential.promise.careful(spec)
        return ResourceClaim(name=name, namespace=self.scene.gang.namespace, spec=careful)

    def room_fits(self, stock: Stock, counts: Counts) -> bool:
        return next(self.short_of(stock, counts), None) is None

    def short_of(self, stock: Stock, counts: Counts) -> Iterator[tuple[str, int, int]]:
        """Resources that do not suffice: name, wanted, free. What no pod requests is not checked."""
        for resource in self.scene.resources:
            wanted, asked = 0, False
            for kind, count in zip(self.scene.kinds, counts, strict=True):
                amount = kind.requests.get(resource, 0)
                if count and amount > 0 and resource not in stock.by_claim[kind.index]:
                    wanted, asked = wanted + amount * count, True
            if asked and wanted > stock.free.get(resource, 0):
                yield resource, wanted, stock.free.get(resource, 0)

    def _devices(self, stock: Stock, counts: Counts, flags: frozenset[int]) -> bool:
        if not self.scene.devices:
            return True
        demand: dict[int, int] = {}
        for kind, count in zip(self.scene.kinds, counts, strict=True):
            if count:
                for form in self._demand_of(kind, stock.by_claim[kind.index]):
                    demand[form] = demand.get(form, 0) + count
        held = frozenset(flag for flag in flags if self.flags.claims[flag] is not None)
        if not demand and not held:
            return True
        key = (stock.devices, tuple(sorted(demand.items())), held)
        found = self._device_answers.get(key)
        if found is None:
            outcome = self.allocate(stock, self.asked(stock, counts, flags))
            self.doubtful |= isinstance(outcome, Fatal) and outcome.kind is FatalKind.GAVE_UP
            found = self._device_answers[key] = isinstance(outcome, Allocation)
        return found


def _least_devices(spec: ClaimSpec) -> int:
    return sum(
        min(
            0 if each.admin_access or each.mode == "All" else each.count
            for each in ([request.exactly] if request.exactly is not None else request.first_available)
        )
        for request in spec.requests
    )


def _devices_of(spec: ClaimSpec) -> int:
    return sum((each.exactly or each.first_available[0]).count for each in spec.requests)
