"""What the reference search knows while it walks: devices, amounts, counters, constraints, each undone by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster_dra.allocated import AllocatedState
from muster_dra.amounts import Amount
from muster_dra.attributes import Attribute
from muster_dra.capacity import amounts_taken, fits
from muster_dra.constraints import NONE_DERIVED, ConstraintState
from muster_dra.counters import Counter, available, drawn
from muster_dra.derived import derive
from muster_dra.features import Features, Release
from muster_dra.objects.claims import DerivedAttribute
from muster_dra.objects.node_selectors import InvalidSelector
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import Device, ResourceSlice
from muster_dra.outcome import Fatal, FatalKind
from muster_dra.pools import Pool, PoolState, place_matches, runs_here
from muster_dra.prepare import Mode, PreparedClaim, PreparedOption
from muster_dra.results import Pick
from muster_dra.selectors import SelectorError, compile_selectors, device_view, environment_of
from muster_dra.weighing import ALLOWANCE
from muster_types import DeviceId


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    pool: Pool
    slice: ResourceSlice
    device: Device

    @property
    def id(self) -> DeviceId:
        return self.pool.id.device(self.device.name)


class FatalError(Exception):
    def __init__(self, fatal: Fatal) -> None:
        super().__init__(fatal.message)
        self.fatal = fatal


class ReferenceState:
    """Everything that changes during a search, with the checks of dra-semantics §3.4 on one candidate."""

    def __init__(
        self,
        node: Node,
        claims: tuple[PreparedClaim, ...],
        pools: tuple[Pool, ...],
        allocated: AllocatedState,
        features: Features,
    ) -> None:
        self.node, self.claims, self.features, self.allocated = node, claims, features, allocated
        self.pools = tuple(pool for pool in pools if pool.state is not PoolState.DROPPED)
        self.environment = environment_of(features)
        self.weighed = 0
        self.selected: dict[tuple[DeviceId, int, str], bool] = {}
        self.derivations: dict[tuple[DeviceId, tuple[DerivedAttribute, ...]], Mapping[str, Attribute]] = {}
        self.all_sets: dict[tuple[int, str], list[Candidate]] = {}
        self.counters: dict[object, dict[Counter, int]] = {}
        self.constraints = [
            [ConstraintState(constraint, features) for constraint in claim.constraints] for claim in claims
        ]
        self.taken: dict[DeviceId, list[int]] = {}  # device -> claims that took it in this run, shared devices never
        self.shares: dict[DeviceId, int] = {}
        self.used: dict[DeviceId, dict[str, int]] = {}
        self.reserved: dict[object, dict[Counter, int]] = {}
        self.picks: list[list[Pick]] = [[] for _ in claims]
        self.chosen: list[list[PreparedOption]] = [[] for _ in claims]

    def candidates(self) -> Iterator[Candidate]:
        for pool in self.pools:
            if pool.usable:
                for slice_, device in pool.devices():
                    yield Candidate(pool, slice_, device)

    def need(self, claim: int, option: PreparedOption) -> int:
        return len(self.all_sets[claim, option.full_name]) if option.mode is Mode.ALL else option.count

    def could_give(self, candidate: Candidate, option: PreparedOption) -> bool:
        """Whether the device belongs to "all": by its total in 1.37, by what is left in 1.36 (D6)."""
        if not self.features.consumable_capacity:
            return True
        left_counts = self.features.release is Release.V1_36
        return self.gives(candidate, option, self.committed(candidate) if left_counts else {}) is not None

    def committed(self, candidate: Candidate) -> Mapping[str, int]:
        use = self.allocated.use(candidate.pool.id).shared.get(candidate.device.name)
        return (use.amounts if use is not None else None) or {}

    def gives(
        self, candidate: Candidate, option: PreparedOption, used: Mapping[str, int]
    ) -> Mapping[str, Amount] | None:
        wanted = option.wanted.capacity or {}
        amounts = amounts_taken(candidate.device, candidate.pool.id.driver, wanted, self.features)
        return amounts if amounts is not None and fits(candidate.device, amounts, used) else None

    def gives_now(self, candidate: Candidate, option: PreparedOption) -> Mapping[str, Amount] | None:
        used = dict(self.committed(candidate))
        for name, amount in self.used.get(candidate.id, {}).items():
            used[name] = used.get(name, 0) + amount
        return self.gives(candidate, option, used)

    def in_use(self, candidate: Candidate, claim: int, option: PreparedOption) -> bool:
        taken = self.taken.get(candidate.id, [])
        if option.admin:
            return claim in taken
        use = self.allocated.use(candidate.pool.id)
        name = candidate.device.name
        dedicated = name in use.dedicated or (name in use.shared and not self.features.consumable_capacity)
        return dedicated or bool(taken)

    def is_selected(self, candidate: Candidate, claim: int, option: PreparedOption) -> bool:
        key = candidate.id, claim, option.full_name
        if key not in self.selected:
            self.selected[key] = self.evaluate(candidate, claim, option)
        return self.selected[key]

    def evaluate(self, candidate: Candidate, claim: int, option: PreparedOption) -> bool:
        device, slice_ = candidate.device, candidate.slice
        if device.binding_conditions and not self.features.binding_conditions:
            return False
        selectors = compile_selectors(option.expressions, self.environment)
        if self.weighed > ALLOWANCE:
            message = f"gave up: expressions cost more than {ALLOWANCE:,} units before an answer was found"
            raise FatalError(Fatal(FatalKind.GAVE_UP, message))
        found, cost = selectors.weigh(device_view(candidate.pool.id.driver, device))
        self.weighed += cost
        if isinstance(found, SelectorError):
            name = self.claims[claim].claim.full_name
            where = f"claim {name}, request {option.full_name}, device {candidate.id}"
            raise FatalError(Fatal(FatalKind.EXPRESSION, f"{where}: {found.sentence()}"))
        if not found or not runs_here(slice_, self.node, self.features):
            return False
        if not slice_.per_device_nodes:
            self.derived(option, candidate)
            return True
        here = place_matches(device.place, self.node)
        if isinstance(here, InvalidSelector):
            raise FatalError(Fatal(FatalKind.NODE_SELECTOR, f"device {candidate.id}: {here.reason}"))
        if here:
            self.derived(option, candidate)
        return here

    def is_shared(self, device: Device) -> bool:
        return device.allow_multiple_allocations and self.features.consumable_capacity

    def charges_counters(self, candidate: Candidate, option: PreparedOption) -> bool:
        """A shared device draws its counters with its first share only; admin access draws them too (#140729)."""
        if not candidate.device.consumes or not self.features.partitionable_devices:
            return False
        if option.admin and self.features.strict:
            return False
        if not self.is_shared(candidate.device):
            return True
        if self.shares.get(candidate.id):
            return False
        use = self.allocated.use(candidate.pool.id).shared.get(candidate.device.name)
        if use is None:
            return True
        return use.amounts is None and not (self.features.strict and use.shares)

    def compatible(self, candidate: Candidate) -> bool:
        """Whether the counter sets that the device draws from are used in a compatible way (dra-semantics §3.11)."""
        features, pool = self.features, candidate.pool
        if features.release is Release.V1_36:
            return True
        use = self.allocated.use(pool.id)
        allocated = [device for _, device in pool.devices() if use.is_allocated(device.name)]
        allocated += [device for device in pool.elsewhere if use.is_allocated(device.name)]
        chosen = [pick.device for picks in self.picks for pick in picks if pick.pool == pool.id]
        for draw in candidate.device.consumes:
            others = [
                frozenset(other.compatibility_groups)
                for device in (allocated if not features.compatibility_groups else [*allocated, *chosen])
                for other in device.consumes
                if other.counter_set == draw.counter_set
            ]
            everyone = [*others, frozenset(draw.compatibility_groups)]
            if not any(everyone):
                continue
            if not features.compatibility_groups or not frozenset.intersection(*everyone):
                return False
        return True

    def pool_key(self, pool: Pool) -> object:
        """Whose counters count together: up to 1.36 the pools of all drivers that have one name (D2)."""
        return pool.id.name if self.features.counters_by_pool_name else pool.id

    def reserve(self, candidate: Candidate) -> bool:
        key = self.pool_key(candidate.pool)
        if key not in self.counters:
            self.counters[key] = available(candidate.pool, self.allocated.use(candidate.pool.id), self.features)
        reserved = self.reserved.setdefault(key, {})
        for counter, amount in drawn(candidate.device.consumes, self.features):
            reserved[counter] = reserved.get(counter, 0) + amount
        left = self.counters[key]
        if all(left[counter] >= reserved.get(counter, 0) for counter in left):
            return True
        self.release(candidate, charged=True)
        return False

    def release(self, candidate: Candidate, charged: bool) -> None:
        if charged:
            reserved = self.reserved[self.pool_key(candidate.pool)]
            for counter, amount in drawn(candidate.device.consumes, self.features):
                reserved[counter] -= amount

    def constrain(self, claim: int, option: PreparedOption, candidate: Candidate) -> bool:
        states = [self.constraints[claim][index] for index in option.constraints]
        derived = self.derived(option, candidate)
        for position, state in enumerate(states):
            if not state.add(option.request, candidate.pool.id.driver, candidate.device, derived):
                for earlier in reversed(states[:position]):
                    earlier.remove(option.request)
                return False
        return True

    def derived(self, option: PreparedOption, candidate: Candidate) -> Mapping[str, Attribute]:
        """What constraints see before the device's own attributes (dra-semantics §3.11). Raises FatalError."""
        wanted = option.wanted.derived
        if not wanted or not self.features.derived_attributes:
            return NONE_DERIVED
        key = candidate.id, wanted
        if key not in self.derivations:
            found = derive(wanted, device_view(candidate.pool.id.driver, candidate.device), self.environment)
            if isinstance(found, SelectorError):
                raise FatalError(Fatal(FatalKind.EXPRESSION, f"device {candidate.id}: {found.sentence()}"))
            self.derivations[key] = found
        return self.derivations[key]

    def record(
        self, claim: int, option: PreparedOption, candidate: Candidate, consumed: Mapping[str, Amount] | None
    ) -> None:
        if consumed is None:
            self.taken.setdefault(candidate.id, []).append(claim)
        else:
            self.shares[candidate.id] = self.shares.get(candidate.id, 0) + 1
            used = self.used.setdefault(candidate.id, {})
            for name, amount in consumed.items():
                used[name] = used.get(name, 0) + amount.nano
        self.picks[claim].append(Pick(option, candidate.pool.id, candidate.slice, candidate.device, consumed))

    def forget(self, claim: int, option: PreparedOption, candidate: Candidate) -> None:
        pick = self.picks[claim].pop()
        if pick.consumed is None:
            self.taken[candidate.id].pop()
        else:
            self.shares[candidate.id] -= 1
            for name, amount in pick.consumed.items():
                self.used[candidate.id][name] -= amount.nano
        self.unconstrain(claim, option)

    def unconstrain(self, claim: int, option: PreparedOption) -> None:
        for index in reversed(option.constraints):
            self.constraints[claim][index].remove(option.request)
