"""Why a node cannot take the claims: the conditions in the way, nearest miss first (reasons in reasons.py)."""

from collections.abc import Sequence

from muster_dra.allocated import AllocatedState
from muster_dra.catalog import Catalog
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.funnel import Funnel, Survivor
from muster_dra.misses import constraint_reason
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.nodes import Node
from muster_dra.outcome import Fatal
from muster_dra.pools import Pool, PoolState, UnreadableSelector
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
        *(reasons or [Reason(ReasonCode.NO_COMBINATION)]),
        *_pool_reasons(unusable, compiled, concerned=False),
    )


def pool_reason(pool: Pool) -> Reason | None:
    """Why a pool cannot be used, or None if it can."""
    if pool.usable:
        return None
    code = ReasonCode.POOL_INVALID if pool.state is PoolState.INVALID else ReasonCode.POOL_INCOMPLETE
    return Reason(code, pool=pool.id, pool_reason=pool.reason)


def _pool_reasons(pools: list[Pool], compiled: CompiledClaims, *, concerned: bool) -> list[Reason]:
    """The unusable pools that hold, or do not hold, a device that some request's selectors would let through."""
    asks = [ask for request in compiled.requests for ask in request.asks]
    return [
        reason for pool in pools if (reason := pool_reason(pool)) is not None and _concerns(pool, asks) is concerned
    ]


def _concerns(pool: Pool, asks: list[Ask]) -> bool:
    views = [device_view(pool.id.driver, device) for _, device in pool.devices()]
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
        reasons += single or [_of_claim(parts, claim, name)]
    return reasons or _of_claims(parts)


def _of_request(parts: Subproblems, number: int, claim: str, funnel: Funnel) -> Reason | None:
    """What keeps one request from its devices although each condition on a device leaves enough of them."""
    if len(parts.whole.options[number]) > 1 or parts.feasible([number], ()):
        return None
    ask, option = parts.compiled.requests[number].asks[0], parts.whole.options[number][0]
    free = funnel.narrowed(ask)
    numbers = [] if isinstance(free, Reason) else [one.number for one in free]
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
            )
    found = parts.reach([number], ())
    return Reason(ReasonCode.COUNTERS_SHARED, claim, ask.option.full_name, wanted=option.need, found=found)


def _under(parts: Subproblems, requests: list[int], constraint: int) -> list[int]:
    """The requests that are under the constraint whatever alternative is chosen."""
    return [
        number
        for number in requests
        if all(constraint in choice.constraints for choice in parts.content.requests[number].choices)
    ]


def _of_claim(parts: Subproblems, claim: int, name: str) -> Reason:
    """Requests that compete, or constraints that can be met one by one but not together."""
    requests = parts.requests_of(claim)
    clash = parts.constraints_of(claim)
    for constraint in tuple(clash):
        fewer = [other for other in clash if other != constraint]
        if not parts.feasible(requests, fewer):
            clash = fewer
    needs = [min(option.need for option in parts.whole.options[number]) for number in requests]
    done = next(
        (count - 1 for count in range(1, len(requests) + 1) if not parts.feasible(requests[:count], clash)),
        len(requests),
    )
    if parts.whole.plan.counts and done == len(requests):
        return Reason(ReasonCode.TOO_MANY_DEVICES, name)
    names = [f"{_condition(parts, constraint)}" for constraint in clash]
    failing = parts.compiled.requests[requests[min(done, len(requests) - 1)]].asks[0].option.request
    return Reason(
        ReasonCode.CONSTRAINTS_CLASH if clash else ReasonCode.REQUESTS_COMPETE,
        name,
        failing,
        subject=", ".join(names),
        wanted=sum(needs),
        found=parts.reach(requests, clash),
    )


def _condition(parts: Subproblems, constraint: int) -> str:
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
    return f"{kind} {prepared.attribute.rpartition('/')[2]} over {', '.join(names)}"


def _of_claims(parts: Subproblems) -> list[Reason]:
    claims = parts.compiled.claims
    for count in range(2, len(claims) + 1):
        requests = [number for number, request in enumerate(parts.content.requests) if request.claim < count]
        constraints = [one for claim in range(count) for one in parts.constraints_of(claim)]
        if not parts.feasible(requests, constraints):
            others = tuple(claim.claim.full_name for claim in claims[: count - 1])
            return [Reason(ReasonCode.CLAIMS_COMPETE, claims[count - 1].claim.full_name, holders=others)]
    return []


__all__ = ["Survivor", "explain", "pool_reason"]
