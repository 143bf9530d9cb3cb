"""The planner: the cheapest placement of all pods of a gang, or why there is none."""

from muster_plan.alternatives import alternatives_of
from muster_plan.assembly import Problem, build_problem, variants_of
from muster_plan.details import assumptions, chosen_domains, spare_of
from muster_plan.explain import no_plan
from muster_plan.first_fit import Replay, replay
from muster_plan.gang import Gang
from muster_plan.placing import Seated
from muster_plan.plan_types import NoPlan, Plan, Survival
from muster_plan.policy import CHEAPEST, FirstFit, Policy
from muster_plan.seating import Refused, best_of, settle_over
from muster_plan.snapshot import Snapshot
from muster_plan.solving import Solved, Unsolved


def plan(snapshot: Snapshot, gang: Gang, policy: Policy = CHEAPEST) -> Plan | NoPlan:
    """The best plan by the policy's objectives, proven best unless `optimal` is False. Pure and deterministic."""
    problem = build_problem(snapshot, gang, policy)
    best = settle_over(variants_of(problem))
    if isinstance(best, Refused):
        return no_plan(problem, best)
    solved, seated = best
    problem = solved.variant.problem
    outcome = _replayed(policy, solved, seated)
    if policy.first_fit is FirstFit.REPLACE and outcome.survival is not Survival.SURVIVES:
        other = best_of(variants_of(problem, in_sequence=True))
        if not isinstance(other, Unsolved):
            survived = _replayed(policy, *other)
            if survived.survival is Survival.SURVIVES:
                (solved, seated), outcome = other, survived
    return _plan(problem, solved, seated, outcome)


def _replayed(policy: Policy, solved: Solved, seated: Seated) -> Replay:
    if policy.first_fit is FirstFit.IGNORE:
        return Replay(Survival.UNKNOWN, ())
    return replay(solved.variant, seated)


def _plan(problem: Problem, solved: Solved, seated: Seated, outcome: Replay) -> Plan:
    placed = {(placement.pod_set, placement.index) for placement in seated.placements}
    rank = {kind.pod_set.name: kind.index for kind in problem.kinds}
    return Plan(
        gang=problem.gang.id,
        placements=tuple(sorted(seated.placements, key=lambda each: (rank[each.pod_set], each.index))),
        orders=seated.orders,
        cost=float(solved.cost),
        new_nodes=solved.new_nodes,
        domains=chosen_domains(problem, seated),
        alternatives=alternatives_of(problem, solved),
        bound=float(solved.bound),
        optimal=solved.optimal,
        spare=spare_of(problem, seated),
        pins=outcome.pins,
        survival=outcome.survival,
        unplaced=tuple(
            (kind.pod_set.name, index)
            for kind in problem.kinds
            for index in range(kind.count)
            if (kind.pod_set.name, index) not in placed
        ),
        assumptions=assumptions(problem, seated),
    )
