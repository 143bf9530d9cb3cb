"""How often a shape fits on a node, and which free devices it can take at all."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from muster_dra import (
    AllocatedState,
    Allocation,
    Attribute,
    AttributeKind,
    Catalog,
    ClaimRequest,
    ClaimSpec,
    DeviceConstraint,
    Node,
    NodeError,
    NoFit,
    Outcome,
    PoolId,
    Reason,
    ReasonCode,
    ResourceSlice,
    UnreadableSelector,
    allocate,
    node_class_key,
)
from muster_fragmentation.shapes import ALL, Shape, options
from muster_types import DeviceId

MOST_COPIES = 1_024
"""A node that holds more copies of a shape (shares of one device, say) counts as holding so many."""
_MARK = "fragmentation.muster.dev/device"
_PIN = '"device" in device.attributes["fragmentation.muster.dev"]'
_SPLIT = "muster-probe"


@dataclass(slots=True)
class Fitting:
    """Over one view of the cluster. Nodes that are alike are asked once."""

    catalog: Catalog
    _copies: dict[tuple[Hashable, int], int] = field(default_factory=dict[tuple[Hashable, int], int])
    _shapes: dict[int, Shape] = field(default_factory=dict[int, Shape])  # keeps the shapes alive, for the cache's keys

    def copies(self, node: Node, shape: Shape, allocated: AllocatedState) -> int:
        """How many claims of the shape the node takes, one after the other, first fit."""
        claims = (shape.claim(),)
        key = node_class_key(node, self.catalog, allocated), id(shape)
        self._shapes[id(shape)] = shape
        found = self._copies.get(key)
        if found is None:
            count, state = 0, allocated
            while count < MOST_COPIES:
                answer = allocate(node, claims, self.catalog, state)
                if not isinstance(answer, Allocation):
                    break
                count, results = count + 1, answer.claims[0].results
                if not results or shape.takes_all:
                    break
                state = state.plus(results, f"copy {count}")
            found = self._copies[key] = count
        return found


def free_devices(node: Node, catalog: Catalog, allocated: AllocatedState) -> tuple[DeviceId, ...]:
    """Devices of usable pools that the node can reach alone and nobody holds any of, in the scheduler's order."""
    pools = catalog.pools_of(node)
    if isinstance(pools, UnreadableSelector):
        return ()
    return tuple(
        pool.id.device(device.name)
        for pool in pools
        if pool.usable
        for slice_, device in pool.devices()
        if slice_.place.node_name == node.name and not allocated.use(pool.id).is_allocated(device.name)
    )


def takes(
    node: Node, shapes: Sequence[Shape], device: DeviceId, catalog: Catalog, allocated: AllocatedState
) -> tuple[tuple[Shape, Outcome], ...]:
    """Whether a claim of one of the shapes can have just this device among its own: () if so, else each shape's no.

    Asked by claims that insist on it: each request is tried in turn with one of its devices pinned. The no is the
    nearest of a shape's.
    """
    marked = _marked(catalog, device)
    refusals: list[tuple[Shape, Outcome]] = []
    for shape in shapes:
        answers: list[Outcome] = []
        for index in range(len(shape.spec.requests)):
            for spec in _insisting(shape.spec, index):
                answer = allocate(node, (replace(shape.claim(), spec=spec),), marked, allocated)
                if holds(answer, device):
                    return ()
                answers.append(answer)
        refusals.append((shape, min(answers, key=_distance, default=NoFit(()))))
    return tuple(refusals)


def is_about_the_pin(reason: Reason) -> bool:
    """Whether it says no more than that the request does not want the pinned device."""
    unwanted = reason.code in (ReasonCode.CLASS_MATCHES_NOTHING, ReasonCode.SELECTOR_MATCHES_NOTHING)
    return (unwanted and reason.request == _SPLIT) or any(is_about_the_pin(cause) for cause in reason.causes)


def _distance(answer: Outcome) -> tuple[int, int]:
    if not isinstance(answer, NoFit | NodeError) or not answer.reasons:
        return 2, 0
    return int(is_about_the_pin(answer.reasons[0])), answer.reasons[0].missing


def _marked(catalog: Catalog, device: DeviceId) -> Catalog:
    """The catalogue with an attribute on one device."""
    changed: list[ResourceSlice] = []
    for slice_ in catalog.index.of_pool(PoolId(device.driver, device.pool)):
        if any(each.name == device.device for each in slice_.devices):
            mark = {_MARK: Attribute(AttributeKind.BOOL, value=True)}
            devices = tuple(
                replace(each, attributes={**each.attributes, **mark}) if each.name == device.device else each
                for each in slice_.devices
            )
            changed.append(replace(slice_, devices=devices))
    return catalog.with_slices(changed)


def _insisting(spec: ClaimSpec, index: int) -> list[ClaimSpec]:
    """The spec with one device of one request pinned, once for each alternative."""
    request = spec.requests[index]
    found: list[ClaimSpec] = []
    for option in options(request):
        if option.mode == ALL:
            found.append(spec)  # all of them, so the pinned one too if it matches: told apart by its results
            continue
        exact = replace(option, name=request.name)
        pinned = replace(exact, name=_SPLIT, count=1, selectors=(*option.selectors, _PIN))
        parts = [ClaimRequest(_SPLIT, exactly=pinned)]
        if option.count > 1:
            parts.append(ClaimRequest(request.name, exactly=replace(exact, count=option.count - 1)))
        requests = (*spec.requests[:index], *parts, *spec.requests[index + 1 :])
        names = {request.name, f"{request.name}/{option.name}"}
        found.append(
            replace(spec, requests=requests, constraints=tuple(_widened(each, names) for each in spec.constraints))
        )
    return found


def _widened(constraint: DeviceConstraint, names: set[str]) -> DeviceConstraint:
    """A constraint on the request also binds the pinned part of it; one on an alternative binds what is left of it."""
    if not constraint.requests or not names & set(constraint.requests):
        return constraint
    base = min(names, key=len)
    kept = [base if each in names else each for each in constraint.requests]
    return replace(constraint, requests=(*kept, _SPLIT))


def holds(answer: Outcome, device: DeviceId) -> bool:
    """Whether a yes includes the device."""
    return isinstance(answer, Allocation) and any(
        result.device == device for claim in answer.claims for result in claim.results
    )
