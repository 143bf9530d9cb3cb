"""The slow, obvious search: depth first over every combination, in upstream's order (dra-semantics §3).

It exists to be read beside the specification and to test `search.py` against. Its cost is upstream's: exponential.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from muster_dra.allocated import AllocatedState
from muster_dra.features import Features
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.classes import DeviceClass
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import PoolId, ResourceSlice
from muster_dra.objects.taints import untolerated
from muster_dra.outcome import Allocation, ClaimAllocation, Fatal, FatalKind, NodeError, NoFit, Outcome
from muster_dra.pools import Pool, PoolState, UnreadableSelector, gather_pools
from muster_dra.prepare import MAX_RESULTS, Mode, PreparedClaim, PreparedOption, prepare
from muster_dra.reference_state import Candidate, FatalError, ReferenceState
from muster_dra.results import claim_allocation


class _Found(Enum):
    SUCCESS = auto()
    NOTHING = auto()
    TOO_MANY = auto()
    """A claim would get more than 32 devices: not worth another device, maybe worth another alternative."""


def reference_allocate(
    node: Node,
    claims: Sequence[ResourceClaim],
    slices: Sequence[ResourceSlice],
    classes: Mapping[str, DeviceClass],
    allocated: AllocatedState,
    features: Features,
    *,
    step_limit: int | None = None,
) -> tuple[Outcome, int]:
    """The outcome and the number of `solve` entries it took (dra-semantics §9.1).

    `slices` are all slices of the cluster with taint rules applied. Beyond `step_limit` the outcome is GAVE_UP.
    """
    of_pool: dict[PoolId, list[ResourceSlice]] = {}
    for slice_ in slices:
        of_pool.setdefault(slice_.pool, []).append(slice_)
    pools = gather_pools(node, slices, lambda pool: of_pool[pool], features)
    if isinstance(pools, UnreadableSelector):
        return Fatal(FatalKind.NODE_SELECTOR, pools.sentence()), 0
    prepared = prepare(claims, classes, features)
    if isinstance(prepared, Fatal):
        return prepared, 0
    search = _Search(node, prepared, pools, allocated, features, step_limit)
    try:
        return search.run(), search.steps
    except FatalError as error:
        return error.fatal, search.steps


class _Search(ReferenceState):
    def __init__(
        self,
        node: Node,
        claims: tuple[PreparedClaim, ...],
        pools: tuple[Pool, ...],
        allocated: AllocatedState,
        features: Features,
        step_limit: int | None,
    ) -> None:
        super().__init__(node, claims, pools, allocated, features)
        self.steps, self.step_limit = 0, step_limit

    def run(self) -> Outcome:
        """Raises FatalError."""
        if (refused := self.all_of_unusable()) is not None:
            return refused
        for index, claim in enumerate(self.claims):
            if (outcome := self.prepare_all_sets(index, claim)) is not None:
                return outcome
        if self.solve(0, 0, None, 0, 0) is _Found.SUCCESS:
            allocations: list[ClaimAllocation] = []
            for claim, chosen, picks in zip(self.claims, self.chosen, self.picks, strict=True):
                made = claim_allocation(claim, chosen, picks, self.node.name, self.features)
                if isinstance(made, Fatal):
                    return made
                allocations.append(made)
            return Allocation(tuple(allocations))
        return NodeError(()) if any(pool.state is PoolState.INVALID for pool in self.pools) else NoFit(())

    def all_of_unusable(self) -> Outcome | None:
        """Mode All looks at every pool of the node, those of other drivers included (D12)."""
        unusable = [pool for pool in self.pools if not pool.usable]
        options = [option for claim in self.claims for request in claim.requests for option in request.options]
        if not unusable or not any(option.mode is Mode.ALL for option in options):
            return None
        message = f"all devices are asked for, but {unusable[0].why_unusable()}"
        if self.features.strict:
            return NodeError(())
        return Fatal(FatalKind.POOL_NOT_USABLE, message)

    def prepare_all_sets(self, index: int, claim: PreparedClaim) -> Fatal | None:
        least = 0
        for request in claim.requests:
            needs: list[int] = []
            for option in request.options:
                if option.mode is Mode.ALL:
                    self.all_sets[index, option.full_name] = [
                        candidate
                        for candidate in self.candidates()
                        if self.is_selected(candidate, index, option) and self.could_give(candidate, option)
                    ]
                needs.append(self.need(index, option))
            least += min(needs)
        if least > MAX_RESULTS:
            return Fatal(
                FatalKind.TOO_MANY_DEVICES,
                f"claim {claim.claim.full_name}: number of requested devices {least} exceeds the claim limit of 32",
            )
        return None

    def solve(self, claim: int, request: int, option: PreparedOption | None, picked: int, cursor: int) -> _Found:
        self.steps += 1
        if self.step_limit is not None and self.steps > self.step_limit:
            raise FatalError(Fatal(FatalKind.GAVE_UP, f"no answer within {self.step_limit} steps"))
        if claim == len(self.claims):
            return _Found.SUCCESS
        requests = self.claims[claim].requests
        if request == len(requests):
            found = self.solve(claim + 1, 0, None, 0, 0)
            return _Found.NOTHING if found is _Found.TOO_MANY else found
        if option is None:
            if not requests[request].prioritized:
                return self.with_option(claim, request, requests[request].options[0], picked, cursor)
            every_too_many = True
            for alternative in requests[request].options:
                found = self.with_alternative(claim, request, alternative)
                if found is _Found.SUCCESS:
                    return found
                every_too_many &= found is _Found.TOO_MANY
            return _Found.TOO_MANY if every_too_many else _Found.NOTHING
        return self.with_option(claim, request, option, picked, cursor)

    def with_alternative(self, claim: int, request: int, alternative: PreparedOption) -> _Found:
        return self.solve(claim, request, alternative, 0, 0)

    def with_option(self, claim: int, request: int, option: PreparedOption, picked: int, cursor: int) -> _Found:
        need = self.need(claim, option)
        if option.mode is Mode.ALL and need == 0:
            return _Found.NOTHING
        if picked == need:
            self.chosen[claim].append(option)
            found = self.solve(claim, request + 1, None, 0, 0)
            if found is not _Found.SUCCESS:
                self.chosen[claim].pop()
            return found
        if len(self.picks[claim]) + need - picked > MAX_RESULTS:
            return _Found.TOO_MANY
        if option.mode is Mode.ALL:
            candidate = self.all_sets[claim, option.full_name][picked]
            return self.with_device(claim, request, option, picked, 0, candidate, must=True) or _Found.NOTHING
        for position, candidate in enumerate(self.candidates()):
            if position < cursor:
                continue
            found = self.with_device(claim, request, option, picked, position + 1, candidate, must=False)
            if found is _Found.SUCCESS or found is _Found.TOO_MANY:
                return found
        return _Found.NOTHING

    def with_device(
        self,
        claim: int,
        request: int,
        option: PreparedOption,
        picked: int,
        cursor: int,
        candidate: Candidate,
        *,
        must: bool,
    ) -> _Found | None:
        """Takes the device and goes on; None when the device cannot be taken, everything undone unless successful."""
        device, features = candidate.device, self.features
        if self.in_use(candidate, claim, option) or (not must and not self.is_selected(candidate, claim, option)):
            return None
        amounts = self.gives_now(candidate, option) if features.consumable_capacity else {}
        if amounts is None and not must:
            return None
        shared = self.is_shared(device)
        if device.consumes and not features.partitionable_devices:
            return None
        charged = self.charges_counters(candidate, option)
        if charged and not (self.compatible(candidate) and self.reserve(candidate)):
            return None
        if features.device_taints and untolerated(device.taints, option.wanted.tolerations) is not None:
            self.release(candidate, charged)
            return None
        if not self.constrain(claim, option, candidate):
            self.release(candidate, charged)
            if must and not features.strict:
                raise FatalError(
                    Fatal(
                        FatalKind.ALL_CONSTRAINT,
                        f"claim {self.claims[claim].claim.full_name}, request {option.full_name}: cannot add device "
                        f"{candidate.id} because a claim constraint would not be satisfied",
                    )
                )
            return None
        if amounts is None:  # one of "all" is asked for its capacity only after the constraints
            self.unconstrain(claim, option)
            self.release(candidate, charged)
            return None
        self.record(claim, option, candidate, amounts if shared else None)
        found = self.solve(claim, request, option, picked + 1, cursor)
        if found is not _Found.SUCCESS:
            self.forget(claim, option, candidate)
            self.release(candidate, charged)
        return found
