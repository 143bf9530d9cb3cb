"""Why there is no plan: the kind of no, the tightest bound with its figures, what would help."""

from dataclasses import replace

from muster_plan.assembly import Problem, Variant
from muster_plan.fitter import Fitter
from muster_plan.gang import Gang, OwnClaim, SharedClaim, SharedEntry
from muster_plan.kinds import Kind
from muster_plan.plan_types import Help, HelpKind, NoPlan, NoPlanKind, PlanReason, ReasonCode
from muster_plan.policy import Policy
from muster_plan.present import present
from muster_plan.relaxing import Excess, Rule, feasible_without, least_excess, most_placed
from muster_plan.seating import Refused, settle, settle_over
from muster_plan.shortfall import nearest_miss
from muster_plan.snapshot import Snapshot
from muster_plan.stocks import Stock


def no_plan(problem: Problem, refused: Refused) -> NoPlan:
    """The answer for a gang without a plan."""
    gang = problem.gang
    if refused.gave_up:
        text = "no plan was found, but the search could not look at everything; nothing is proven"
        return _answer(gang, NoPlanKind.NOT_NOW, (PlanReason(ReasonCode.GAVE_UP, gang.id, text, {}),))
    snapshot, policy, variant = problem.snapshot, problem.policy, refused.variants[0]
    unbooked = snapshot.with_bookings(()) if snapshot.bookings else snapshot
    lenient = replace(policy, excluded_groups=frozenset())
    passing = unbooked is not snapshot or bool(policy.excluded_groups)
    if passing and not isinstance(settle(unbooked, gang, lenient), Refused):
        return _not_now(problem, variant)
    free = replace(lenient, limits=())
    if unbooked is snapshot and free == policy:  # what was found out about nodes holds on
        possible = settle_over(refused.variants, unlimited=True)
    else:
        possible = settle(unbooked, gang, free, unlimited=True)
    if not isinstance(possible, Refused):
        return _limit(problem, variant, possible[0].variant)
    empty, alone = snapshot.emptied(gang.namespace), emptied_gang(gang)
    even_empty = isinstance(settle(empty, alone, free, unlimited=True), Refused)
    return _never(problem, variant, even_empty=even_empty)


def feasible(snapshot: Snapshot, gang: Gang, policy: Policy) -> bool:
    """Whether there is a plan within all maxima."""
    return not isinstance(settle(snapshot, gang, policy), Refused)


def emptied_gang(gang: Gang) -> Gang:
    """The gang with its claims' other consumers gone."""

    def alone(claim: SharedClaim) -> SharedClaim:
        if claim.existing is None:
            return claim
        return replace(claim, existing=replace(claim.existing, reserved_for=()))

    def entry(each: OwnClaim | SharedEntry) -> OwnClaim | SharedEntry:
        return each if isinstance(each, OwnClaim) else replace(each, claim=alone(each.claim))

    sets = tuple(replace(each, claims=tuple(map(entry, each.claims))) for each in gang.pod_sets)
    return replace(gang, pod_sets=sets)


def _answer(
    gang: Gang,
    kind: NoPlanKind,
    reasons: tuple[PlanReason, ...],
    *,
    even_empty: bool = False,
    waiting: bool = True,
    proof: str = "",
    helps: tuple[Help, ...] = (),
) -> NoPlan:
    return NoPlan(gang.id, kind, reasons, even_empty, waiting, proof, helps)


def _not_now(problem: Problem, variant: Variant) -> NoPlan:
    """Bookings of other gangs, or groups that are backing off, are in the way."""
    reasons = [*_reasons(variant, unlimited=False)]
    helps: list[Help] = []
    gangs = tuple(sorted(problem.snapshot.bookings))
    if gangs:
        names = ", ".join(gangs)
        reasons.append(PlanReason(ReasonCode.BOOKED, names, f"capacity is booked for {names}", {"gangs": names}))
        helps.append(Help(HelpKind.WAIT_FOR_GANG, gangs, f"wait until {names} starts or gives back its capacity"))
    for group in sorted(problem.policy.excluded_groups):
        text = f"group {group} is left out for now"
        reasons.append(PlanReason(ReasonCode.EXCLUDED, group, text, {"group": group}))
        helps.append(Help(HelpKind.WAIT_FOR_GROUP, (group,), f"wait until group {group} can be ordered from again"))
    return _answer(problem.gang, NoPlanKind.NOT_NOW, tuple(reasons), helps=tuple(helps))


def _limit(problem: Problem, variant: Variant, possible: Variant) -> NoPlan:
    """Only maxima are in the way: which, and by how much."""
    excess = least_excess(possible)
    reasons = [_limit_reason(problem, each) for each in excess]
    helps = [_raise(problem, each) for each in excess]
    for limit in problem.policy.limits:
        text = f"limit {limit.name or 'of the policy'} does not allow what the gang needs"
        reasons.append(PlanReason(ReasonCode.LIMIT, limit.name, text, {"limit": limit.name}))
    most = most_placed(variant, unlimited=False)
    text = f"{most.pods} of {problem.pods} pods fit within today's maxima"
    reasons.append(PlanReason(ReasonCode.CAPACITY, problem.gang.id, text, {"found": most.pods, "wanted": problem.pods}))
    empty, alone = problem.snapshot.emptied(problem.gang.namespace), emptied_gang(problem.gang)
    waiting = feasible(empty, alone, replace(problem.policy, excluded_groups=frozenset()))
    return _answer(problem.gang, NoPlanKind.LIMIT, tuple(reasons), waiting=waiting, helps=tuple(helps))


def _limit_reason(problem: Problem, excess: Excess) -> PlanReason:
    group = present(problem.snapshot.group(excess.group), "a group that orders")
    text = (
        f"group {excess.group} would have to add {_nodes(excess.nodes)}, it can add {excess.room} "
        f"(maximum {group.max_size}, now {group.current_size})"
    )
    data = {"group": excess.group, "wanted": excess.nodes, "room": excess.room, "maximum": group.max_size}
    return PlanReason(ReasonCode.LIMIT, excess.group, text, data)


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"


def _raise(problem: Problem, excess: Excess) -> Help:
    group = present(problem.snapshot.group(excess.group), "a group that orders")
    wanted = group.max_size + excess.nodes - excess.room
    return Help(HelpKind.RAISE_LIMIT, (excess.group,), f"raise the maximum of group {excess.group} to {wanted}")


def _never(problem: Problem, variant: Variant, *, even_empty: bool) -> NoPlan:
    reasons = _reasons(variant, unlimited=True)
    proof = (
        f"no number of further nodes of {_groups(problem)} helps"
        f"{', and it stays so if everybody else leaves' if even_empty else ''}: {reasons[0].sentence()}"
    )
    helps: list[Help] = []
    waiting = False
    if not even_empty:
        empty, alone = problem.snapshot.emptied(problem.gang.namespace), emptied_gang(problem.gang)
        waiting = feasible(empty, alone, problem.policy)
        holders = _holders(problem)
        if holders:
            names = ", ".join(holders)
            helps.append(Help(HelpKind.FREE_DEVICES, holders, f"it would help if these left: {names}"))
    else:
        text = "change the request or add a node group of another shape"
        helps.append(Help(HelpKind.CHANGE_REQUEST, (), text))
    kind = NoPlanKind.NEVER
    return _answer(problem.gang, kind, reasons, even_empty=even_empty, waiting=waiting, proof=proof, helps=tuple(helps))


def _groups(problem: Problem) -> str:
    names = sorted(problem.potentials.by_group)
    return f"group{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "any group (there is none)"


def _holders(problem: Problem) -> tuple[str, ...]:
    """Up to five that hold devices or room on nodes that the gang could use."""
    found: set[str] = set()
    own = problem.gang.namespace
    for stock in problem.existing:
        if all(stock.blocked):
            continue
        for name in stock.names:
            found.update(f"Pod/{key.namespace}/{key.name}" for key in problem.snapshot.pods_by_node.get(name, {}))
            for key, claim in problem.snapshot.tables.claims.items():
                if key.namespace == own or claim.allocation is None:
                    continue
                if any(each.device.pool == name for each in claim.allocation.devices):
                    found.add(f"ResourceClaim/{key.namespace}/{key.name}")
    return tuple(sorted(found))[:5]


def _reasons(variant: Variant, *, unlimited: bool) -> tuple[PlanReason, ...]:
    """The tightest bound first: a pod that fits nowhere, then the rule whose absence would help, then capacity."""
    alone = _misfits(variant, unlimited=unlimited)
    if alone:
        return alone
    rules = [rule for rule in Rule if feasible_without(variant, rule, unlimited=unlimited)]
    most = most_placed(variant, unlimited=unlimited)
    found = [_rule_reason(variant, rule, most.pods, most.domain) for rule in rules]
    found += [
        _short_reason(variant, kind, placed)
        for kind, placed in zip(variant.problem.kinds, most.by_kind, strict=True)
        if placed < kind.count
    ]
    text = f"at most {most.pods} of {variant.problem.pods} pods can be placed at once"
    data = {"found": most.pods, "wanted": variant.problem.pods}
    found.append(PlanReason(ReasonCode.CAPACITY, variant.problem.gang.id, text, data))
    return tuple(found)


def _short_reason(variant: Variant, kind: Kind, placed: int) -> PlanReason:
    """Why further nodes do not help the pods of a kind that are left over."""
    start = f"pod set {kind.name}: {placed} of {kind.count} pods can be placed"
    data: dict[str, str | int | float] = {"podSet": kind.name, "found": placed, "wanted": kind.count}
    flags = variant.fitter.flags.of_kind[kind.index]
    if flags:
        claims = [claim.id for flag in sorted(flags) if (claim := variant.fitter.flags.claims[flag]) is not None]
        what = f"share {', '.join(claims)}" if claims else "want the same host"
        text = f"{start}: they {what}, so they must be on one node, and no node takes all of them"
        return PlanReason(ReasonCode.SHARED_CLAIM, kind.name, text, data)
    stocks = [stock for stock in variant.potential if not _fits_alone(variant.fitter, kind, stock)]
    if not variant.potential:
        text = f"{start}, and there is no node group to grow"
        return PlanReason(ReasonCode.CAPACITY, kind.name, text, data)
    if len(stocks) < len(variant.potential):
        return PlanReason(ReasonCode.CAPACITY, kind.name, start, data)
    miss = _miss_reason(variant.fitter, kind, stocks)
    text = f"{start}, and no new node would take one: {miss.sentence().removeprefix(f'pod set {kind.name}: ')}"
    return PlanReason(miss.code, kind.name, text, {**miss.data, **data})


def _rule_reason(variant: Variant, rule: Rule, most: int, domain: str) -> PlanReason:
    problem = variant.problem
    pods = problem.pods
    match rule:
        case Rule.DOMAIN:
            keys = sorted({scope.key for scope in problem.topologies.scopes})
            best = f"; the best, {domain}, takes {most} of {pods} pods" if domain else ", and none takes a single pod"
            text = f"no single domain of {', '.join(keys)} takes the gang{best}"
            return PlanReason(ReasonCode.DOMAIN, domain or keys[0], text, {"found": most, "wanted": pods})
        case Rule.SLICES:
            layer = problem.topologies.layers[0]
            name = problem.kinds[layer.kind].name
            text = f"pod set {name}: domains of {layer.key} cannot be filled in slices of {layer.size}"
            return PlanReason(ReasonCode.SLICES, layer.key, text, {"size": layer.size})
        case Rule.SPREAD:
            spread = problem.topologies.spreads[0]
            name, key = problem.kinds[spread.kind].name, spread.rule.topology_key
            text = f"pod set {name}: {most} of {pods} pods fit within a skew of {spread.rule.max_skew} over {key}"
            return PlanReason(ReasonCode.SPREAD, key, text, {"skew": spread.rule.max_skew})
        case Rule.ANTI_AFFINITY:
            text = f"pods of the gang refuse each other's domain: {most} of {pods} can be placed"
            return PlanReason(ReasonCode.ANTI_AFFINITY, problem.gang.id, text, {"found": most, "wanted": pods})
        case Rule.AFFINITY:
            near = problem.topologies.near[0]
            name = problem.kinds[near.kind].name
            text = f"pod set {name}: its pods must be near others over {near.key}; {most} of {pods} pods can be placed"
            return PlanReason(ReasonCode.AFFINITY, near.key, text, {"found": most, "wanted": pods})
        case Rule.NETWORK:
            text = f"the network-attached devices that the gang's nodes reach suffice for {most} of {pods} pods"
            return PlanReason(ReasonCode.CAPACITY, problem.gang.id, text, {"found": most, "wanted": pods})
        case Rule.CONSUMERS:
            text = f"a claim has at most 256 consumers; {pods} pods of the gang name one that has not enough left"
            return PlanReason(ReasonCode.CONSUMERS, problem.gang.id, text, {"limit": 256})
        case Rule.ONE_NODE:
            text = f"pods that need the same node do not fit on one together: {most} of {pods} can be placed"
            return PlanReason(ReasonCode.SHARED_CLAIM, problem.gang.id, text, {"found": most, "wanted": pods})


def _misfits(variant: Variant, *, unlimited: bool) -> tuple[PlanReason, ...]:
    """Kinds of which not even one pod fits anywhere, each with its nearest miss."""
    supplies = variant.supplies(unlimited=unlimited)
    free = {kind for kinds, _ in variant.demand.minimums for kind in kinds}
    stocks = (*variant.existing, *variant.potential)
    found: list[PlanReason] = []
    for kind in variant.problem.kinds:
        if kind.index in free or any(each.counts[kind.index] for supply in supplies for each in supply.patterns):
            continue
        fitting = [stock for stock in stocks if _fits_alone(variant.fitter, kind, stock)]
        if fitting and not unlimited:
            names = ", ".join(stock.label for stock in fitting[:3])
            text = f"pod set {kind.name}: only {names} could take a pod, and there is no room to grow"
            found.append(PlanReason(ReasonCode.LIMIT, kind.name, text, {"podSet": kind.name}))
            continue
        found.append(_miss_reason(variant.fitter, kind, [stock for stock in stocks if stock not in fitting]))
    return tuple(found)


def _fits_alone(fitter: Fitter, kind: Kind, stock: Stock) -> bool:
    counts = tuple(kind.slice_size if each is kind else 0 for each in fitter.scene.kinds)
    return fitter.fits(stock, counts, fitter.flags.of_kind[kind.index])


def _miss_reason(fitter: Fitter, kind: Kind, stocks: list[Stock]) -> PlanReason:
    miss = nearest_miss(fitter, kind, stocks)
    if miss is None:
        text = f"pod set {kind.name}: there is no node and no node group"
        return PlanReason(ReasonCode.NO_NODES, kind.name, text, {"podSet": kind.name})
    start = f"pod set {kind.name}: {miss.need}; the closest shape" if miss.need else f"pod set {kind.name}: the closest"
    verb = "" if miss.need or not miss.lack.startswith(("the ", "taint", "a ", "claim", "held", "host")) else ":"
    text = f"{start}, {miss.stock}{verb or ','} {miss.lack}"
    return PlanReason(miss.code, kind.name, text, {**miss.data, "podSet": kind.name, "closest": miss.stock})
