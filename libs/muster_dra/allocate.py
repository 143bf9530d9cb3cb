"""One node, all claims of one pod together: yes with devices, no with reasons, or fatal."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_dra.allocated import AllocatedState
from muster_dra.allocations import allocation, claim_allocations
from muster_dra.catalog import Catalog
from muster_dra.compiled import CompiledClaims
from muster_dra.explain import explain, pool_reason
from muster_dra.fatal_ends import fatal_end
from muster_dra.found import Ended, Found, Solution
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.nodes import Node
from muster_dra.outcome import Allocation, Fatal, FatalKind, NodeError, NoFit, Outcome
from muster_dra.outline import Plan
from muster_dra.pools import Pool, UnreadableSelector
from muster_dra.prepare import Mode
from muster_dra.reference import reference_allocate
from muster_dra.solving import solve, solve_exclusive
from muster_dra.views import NodeView, exclusive_use, occupancy
from muster_dra.weighing import ALLOWANCE


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How many candidate devices a search may try before it gives up; well under a second."""

    steps: int = 100_000


DEFAULT_BUDGET = SearchBudget()


def allocate(
    node: Node,
    claims: Sequence[ResourceClaim],
    catalog: Catalog,
    allocated: AllocatedState,
    *,
    budget: SearchBudget = DEFAULT_BUDGET,
) -> Outcome:
    """Devices for all claims of one pod on one node, as kube-scheduler chooses them, or why not (dra-semantics §3).

    node       a `Node`; `parse_node` reads one. Its name and labels decide which slices it sees.
    claims     the pod's claims that are not allocated yet, in the pod's order: all get their devices, or none does. No
               claim at all is a yes. Claims are never looked up: leave those that are allocated out.
    catalog    slices, classes and taint rules, with the `Features` to follow; keep it, it remembers what it worked out.
    allocated  what other claims hold; it is not changed. `allocated.plus(claim.results, name)` commits an answer.
    budget     how many devices the search may try before it ends as GAVE_UP; the default stays under a second.

    Returns one of four outcomes (dra-semantics §0.1):

    Allocation  yes. `claims[i]` belongs to the claim at that place; `results` are its devices in search order, with
                node selector, configuration and consumed amounts; `to_json` gives `status.allocation`.
    NoFit       no. `reasons`, most telling first, are worked out when they are read; `reason.sentence()` is for people.
    NodeError   no, and a pool of the node contradicts itself; `reasons` as above.
    Fatal       the attempt ends whatever other nodes say; `kind` is a `FatalKind`, `message` a sentence. GAVE_UP: the
                budget is spent, and neither yes nor no is proven.

    Raises nothing for claims, slices and classes that were read: what is wrong with them is a Fatal or a reason. Same
    arguments, same answer.
    """
    view = catalog.view(node)
    if isinstance(view, UnreadableSelector):
        return Fatal(FatalKind.NODE_SELECTOR, view.sentence())
    plans = catalog.plans(claims)
    if isinstance(plans, Fatal):
        return plans
    compiled = plans.compiled
    if (
        compiled.needs_reference
        or view.shape.grouped
        or (catalog.features.counters_by_pool_name and _names_clash(view))
    ):
        return _by_reference(node, claims, catalog, allocated, budget)
    if view.unusable is not None:
        refused = _all_of_unusable(compiled, view.unusable)
        if refused is not None:
            return refused
    plan, errors = plans.plan(view.shape), 1
    found, settled = _solved(plan, compiled, view, allocated, budget)
    while not settled:
        if errors > view.shape.size:
            return _too_costly(view)
        errors *= 2
        plan = plans.plan_read_to(view.shape, errors)
        found, settled = _solved(plan, compiled, view, allocated, budget)
    if isinstance(found, Solution):
        if view.bound:
            return allocation(found, compiled, view)
        return Allocation(lambda: claim_allocations(found, compiled, view))
    if isinstance(found, Ended):
        return fatal_end(found, compiled, plan, view, budget.steps)
    refusal = NodeError if view.invalid else NoFit
    return refusal(lambda: explain(node, claims, catalog, allocated))


def _solved(
    plan: Plan, compiled: CompiledClaims, view: NodeView, allocated: AllocatedState, budget: SearchBudget
) -> tuple[Found, bool]:
    """What the search finds on the plan, and whether that stands: not so if it wants a device that is unread."""
    dedicated = exclusive_use(view, allocated)
    if dedicated is not None:
        found = solve_exclusive(plan, dedicated, budget.steps)
    else:
        found = solve(plan, compiled, view.shape, occupancy(view, allocated, compiled.features), budget.steps)
    if not isinstance(found, Ended) or found.kind is not FatalKind.EXPRESSION:
        return found, True
    return found, not plan.content.requests[found.request].choices[found.option].unread >> found.device & 1


def _too_costly(view: NodeView) -> Fatal:
    return Fatal(
        FatalKind.GAVE_UP,
        f"gave up on node {view.node.name}: the selectors' expressions cost more than {ALLOWANCE:,} units there "
        "before an answer was found; make them cheaper, or ask for fewer devices with them",
    )


def _all_of_unusable(compiled: CompiledClaims, pool: Pool) -> Fatal | NodeError | None:
    """Whether a request for all devices meets a pool that is being updated or invalid (D12)."""
    for request in compiled.requests:
        for ask in request.asks:
            if ask.option.mode is Mode.ALL:
                if compiled.features.strict:
                    reason = pool_reason(pool)
                    return NodeError(() if reason is None else (reason,))
                message = (
                    f"claim {compiled.claims[ask.claim].claim.full_name}, request {ask.option.full_name}: "
                    f"asks for all devices, but {pool.why_unusable()}"
                )
                return Fatal(FatalKind.POOL_NOT_USABLE, message)
    return None


def _names_clash(view: NodeView) -> bool:
    """Whether two pools of one name draw counters, whose bookkeeping 1.36 mixes up (D2)."""
    names = [pool.id.name for pool in view.pools if pool.counter_sets]
    return len(set(names)) < len(names)


def _by_reference(
    node: Node,
    claims: Sequence[ResourceClaim],
    catalog: Catalog,
    allocated: AllocatedState,
    budget: SearchBudget,
) -> Outcome:
    """Where a release's defect makes the answer depend on every step of its search, that search is walked; so for
    compatibility groups and derived attributes, which only it follows."""
    slices = catalog.index.slices()
    features, steps = catalog.features, budget.steps // 10
    outcome, _ = reference_allocate(node, claims, slices, catalog.classes, allocated, features, step_limit=steps)
    if isinstance(outcome, NodeError | NoFit) and not outcome.reasons:
        return type(outcome)(lambda: explain(node, claims, catalog, allocated))
    return outcome
