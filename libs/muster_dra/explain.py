"""Why a node cannot take the claims: the conditions in the way, nearest miss first (reasons in reasons.py)."""

from collections.abc import Sequence

from muster_dra.allocated import AllocatedState
from muster_dra.catalog import Catalog
from muster_dra.cel import DeviceView
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.funnel import Funnel
from muster_dra.funnel_sharing import pools_in, pools_of
from muster_dra.misses import constraint_reason
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import PoolId, ResourceSlice
from muster_dra.outcome import Fatal
from muster_dra.phrases import attribute_name
from muster_dra.pools import Pool, PoolState, UnreadableSelector, is_relevant
from muster_dra.prepare import MAX_RESULTS
from muster_dra.reasons import Reason, ReasonCode
from muster_dra.selectors import device_view
from muster_dra.situation import situation
from muster_dra.subproblems import Subproblems
from muster_dra.views import NodeView, occupancy


def explain(
    node: Node, claims: Sequence[ResourceClaim], catalog: Catalog, allocated: AllocatedState
) -> tuple[Reason, ...]:
    """Why `allocate` says no for the same arguments. Empty when the claims are fatal.

    Conditions that one request meets alone come first, then those of one constraint, of one claim, of the claims
    together: each later kind is only looked at when all earlier ones are met. Where the reference search answered, or
    the budget of the explanation is spent, NO_COMBINATION stands for the later kinds: nothing unproven is claimed.
    """
    view, plans = catalog.view(node), catalog.plans(claims)
    if isinstance(view, UnreadableSelector) or isinstance(plans, Fatal):
        return ()
    compiled = plans.compiled
    pools = catalog.pools_of(node)
    unusable = [] if isinstance(pools, UnreadableSelector) else [pool for pool in pools if not pool.usable]
    reasons = _alone(compiled, view, allocated)
    if not reasons and not compiled.needs_reference:
        start = situation(plans.plan(view.shape), compiled, view.shape, occupancy(view, allocated, catalog.features))
        reasons = _together(Subproblems(start, compiled), view, allocated)
    return (
        *_pool_reasons(unusable, compiled, concerned=True),
        *_ignored(_counter_slices(node, catalog), compiled),
        *(reasons or [_no_combination(compiled)]),
        *_pool_reasons(unusable, compiled, concerned=False),
    )


def pool_reason(pool: Pool) -> Reason | None:
    """Why a pool cannot be used, or None if it can."""
    if pool.usable:
        return None
    code = ReasonCode.POOL_INVALID if pool.state is PoolState.INVALID else ReasonCode.POOL_INCOMPLETE
    return Reason(code, pool=pool.id, pool_reason=pool.reason)


def _no_combination(compiled: CompiledClaims) -> Reason:
    """With the claim and its requests, if there is one claim only."""
    names = tuple(request.asks[0].option.request for request in compiled.requests)
    if len(compiled.claims) != 1:
        return Reason(ReasonCode.NO_COMBINATION)
    claim = compiled.claims[0].claim.full_name
    if len(names) == 1:
        return Reason(ReasonCode.NO_COMBINATION, claim, names[0])
    return Reason(ReasonCode.NO_COMBINATION, claim, requests=names)


def _counter_slices(node: Node, catalog: Catalog) -> list[ResourceSlice]:
    """Slices for the node whose devices are ignored for the counters beside them (dra-semantics §1.14)."""
    mixed = (slice_ for slice_ in catalog.index.candidates(node) if slice_.holds_counters and slice_.devices)
    return sorted(
        (slice_ for slice_ in mixed if is_relevant(slice_, node, catalog.features) is True),
        key=lambda slice_: slice_.name,
    )


def _ignored(slices: list[ResourceSlice], compiled: CompiledClaims) -> list[Reason]:
    """A reason for each slice with an ignored device that some request's selectors would let through."""
    asks = [ask for request in compiled.requests for ask in request.asks]
    return [
        Reason(ReasonCode.DEVICES_IGNORED, subject=slice_.name, found=len(slice_.devices), pool=slice_.pool)
        for slice_ in slices
        if _some_pass([device_view(slice_.pool.driver, device) for device in slice_.devices], asks)
    ]


def _pool_reasons(pools: list[Pool], compiled: CompiledClaims, *, concerned: bool) -> list[Reason]:
    """The unusable pools that hold, or do not hold, a device that some request's selectors would let through."""
    asks = [ask for request in compiled.requests for ask in request.asks]
    return [
        reason for pool in pools if (reason := pool_reason(pool)) is not None and _concerns(pool, asks) is concerned
    ]


def _concerns(pool: Pool, asks: list[Ask]) -> bool:
    return _some_pass([device_view(pool.id.driver, device) for _, device in pool.devices()], asks)


def _some_pass(views: list[DeviceView], asks: list[Ask]) -> bool:
    return any(ask.selectors.match(view) is True for view in views for ask in asks)


def _alone(compiled: CompiledClaims, view: NodeView, allocated: AllocatedState) -> list[Reason]:
    """One reason for each request that cannot be satisfied even alone and without constraints."""
    funnel = Funnel(compiled, view, allocated)
    reasons: list[Reason] = []
    for request in compiled.requests:
        causes: list[Reason] = []
        for ask in request.asks:
            reason = funnel.reason(ask)
            if reason is None:
                break
            causes.append(reason)
        else:
            reasons.append(_of_alternatives(causes, request.asks))
    return reasons


def _of_alternatives(causes: list[Reason], asks: tuple[Ask, ...]) -> Reason:
    if len(causes) == 1:
        return causes[0]
    nearest = min(causes, key=lambda cause: cause.missing)
    return Reason(
        ReasonCode.NO_ALTERNATIVE,
        nearest.claim,
        asks[0].option.request,
        wanted=nearest.wanted,
        found=nearest.found,
        value=nearest.request,
        causes=tuple(causes),
        pools=tuple(dict.fromkeys(pool for cause in causes for pool in cause.pools)),
    )


def _together(parts: Subproblems, view: NodeView, allocated: AllocatedState) -> list[Reason]:
    compiled = parts.compiled
    funnel = Funnel(compiled, view, allocated)
    reasons: list[Reason] = []
    for claim, prepared in enumerate(compiled.claims):
        requests = parts.requests_of(claim)
        if parts.feasible(requests, parts.constraints_of(claim)):
            continue
        name = prepared.claim.full_name
        alone = [reason for number in requests if (reason := _of_request(parts, number, name, funnel)) is not None]
        if alone:
            reasons += alone
            continue
        single = [
            constraint_reason(parts, view, allocated, claim, constraint)
            for constraint in parts.constraints_of(claim)
            if not parts.feasible(_under(parts, requests, constraint), (constraint,))
        ]
        reasons += single or [_of_claim(parts, view, claim, name)]
    return reasons or _of_claims(parts, view)


def _of_request(parts: Subproblems, number: int, claim: str, funnel: Funnel) -> Reason | None:
    """What keeps one request from its devices although each condition on a device leaves enough of them."""
    if len(parts.whole.options[number]) > 1 or parts.feasible([number], ()):
        return None
    ask, option = parts.compiled.requests[number].asks[0], parts.whole.options[number][0]
    narrowed = funnel.narrowed(ask)
    free = [] if isinstance(narrowed, Reason) else narrowed
    numbers = [one.number for one in free]
    for constraint in ask.constraints:
        first = parts.content.constraints[constraint].first
        publishing = sum(first >> device & 1 for device in numbers)
        if publishing < option.need:
            return Reason(
                ReasonCode.ATTRIBUTE_MISSING,
                claim,
                ask.option.full_name,
                subject=parts.compiled.constraints[constraint].attribute,
                wanted=option.need,
                found=publishing,
                pools=pools_of(free),
            )
    counter, needed, left = funnel.counters_together(free, option.need)
    return Reason(
        ReasonCode.COUNTERS_SHARED,
        claim,
        ask.option.full_name,
        subject=counter,
        wanted=option.need,
        found=parts.reach([number], ()),
        wanted_amount=needed,
        found_amount=left,
        pools=pools_of(free),
    )


def _under(parts: Subproblems, requests: list[int], constraint: int) -> list[int]:
    """The requests that are under the constraint whatever alternative is chosen."""
    return [
        number
        for number in requests
        if all(constraint in choice.constraints for choice in parts.content.requests[number].choices)
    ]


def _of_claim(parts: Subproblems, view: NodeView, claim: int, name: str) -> Reason:
    """Requests that compete, or constraints that can be met one by one but not together."""
    requests = parts.requests_of(claim)
    pools = pools_in(view, parts.candidates(requests))
    least = [parts.least(number) for number in requests]
    if sum(least) > MAX_RESULTS:
        over = next(place for place in range(len(least)) if sum(least[: place + 1]) > MAX_RESULTS)
        request = parts.compiled.requests[requests[over]].asks[0].option.request
        code = ReasonCode.TOO_MANY_DEVICES
        return Reason(code, name, request, wanted=sum(least), found=MAX_RESULTS, pools=pools)
    clash = parts.constraints_of(claim)
    for constraint in tuple(clash):
        fewer = [other for other in clash if other != constraint]
        if not parts.feasible(requests, fewer):
            clash = fewer
    done = next(
        (count - 1 for count in range(1, len(requests) + 1) if not parts.feasible(requests[:count], clash)),
        len(requests),
    )
    names = [_condition(parts, constraint, pools) for constraint in clash]
    failing = parts.compiled.requests[requests[min(done, len(requests) - 1)]].asks[0].option.request
    return Reason(
        ReasonCode.CONSTRAINTS_CLASH if clash else ReasonCode.REQUESTS_COMPETE,
        name,
        failing,
        subject=", ".join(names),
        wanted=sum(least),
        found=parts.reach(requests, clash),
        pools=pools,
    )


def _condition(parts: Subproblems, constraint: int, pools: tuple[PoolId, ...]) -> str:
    prepared = parts.compiled.constraints[constraint]
    names = sorted(
        {
            ask.option.request
            for request in parts.compiled.requests
            for ask in request.asks
            if constraint in ask.constraints
        }
    )
    kind = "distinct" if prepared.distinct else "same"
    return f"{kind} {attribute_name(prepared.attribute, pools)} over {', '.join(names)}"


def _of_claims(parts: Subproblems, view: NodeView) -> list[Reason]:
    claims = parts.compiled.claims
    for count in range(2, len(claims) + 1):
        requests = [number for number, request in enumerate(parts.content.requests) if request.claim < count]
        constraints = [one for claim in range(count) for one in parts.constraints_of(claim)]
        if not parts.feasible(requests, constraints):
            last = claims[count - 1].claim.full_name
            own = parts.requests_of(count - 1)
            before = [number for number in requests if number not in own]
            swapped = any(parts.is_admin(number) for number in before) and parts.feasible([*own, *before], constraints)
            return [
                Reason(
                    ReasonCode.CLAIMS_COMPETE,
                    last,
                    subject=last if swapped else "",
                    wanted=sum(min(option.need for option in parts.whole.options[number]) for number in requests),
                    found=parts.reach(requests, constraints),
                    holders=tuple(claim.claim.full_name for claim in claims[: count - 1]),
                    pools=pools_in(view, parts.candidates(requests)),
                )
            ]
    return []
