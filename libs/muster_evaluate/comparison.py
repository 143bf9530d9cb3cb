"""The pending work served twice: pod by pod and by Muster's plans; what each buys, starts, strands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from muster_evaluate.arrivals import NewNodes, is_new, with_new_nodes
from muster_evaluate.pod_by_pod import buy, new_before
from muster_evaluate.starting import most_of, reason_of, start
from muster_evaluate.work import Work
from muster_plan import CHEAPEST, NoPlan, NoPlanKind, Plan, Snapshot, Survival
from muster_plan.plan_types import ExistingNode
from muster_types import NodeGroupName, NodeName

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, of how much."""


class Outcome(StrEnum):
    STARTS = "starts"
    WAITS = "waits"  # nothing was bought for it
    PARTIAL = "partial"  # nodes for some of its pods, of use to none
    WRONG_SHAPE = "wrong shape"  # nodes for all of its pods, and they do not serve them together


@dataclass(frozen=True, slots=True)
class Share:
    """One work on one side. `orders` are new nodes by group; `started` of its pods have a place; `why` not all."""

    outcome: Outcome
    orders: tuple[NewNodes, ...]
    started: int
    why: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What the plan of a work makes use of, so that the capabilities which matter are told from the others."""

    groups: int
    existing: bool
    pinned: bool
    never: bool


@dataclass(frozen=True, slots=True)
class Compared:
    work: Work
    pod_by_pod: Share
    muster: Share
    needs: Needs


@dataclass(frozen=True, slots=True)
class Side:
    """Totals. `cost` is the price of all new nodes, in the unit of `pricePerNode`; `stranded` new nodes serve nobody,
    `stranded_cost` is their price. `idle_hours` are node-hours of one round: stranded nodes until they are removed."""

    nodes: int
    cost: Fraction
    waiting: int
    pods: int
    stranded: int
    stranded_cost: Fraction
    idle_hours: Fraction


@dataclass(frozen=True, slots=True)
class Comparison:
    rows: tuple[Compared, ...]
    pod_by_pod: Side
    muster: Side

    @property
    def as_good(self) -> bool:
        """Whether pod by pod does not worse in anything that is compared."""
        one, other = self.pod_by_pod, self.muster
        return (
            one.stranded <= other.stranded
            and one.waiting <= other.waiting
            and one.pods >= other.pods
            and one.cost <= other.cost
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """`idle` is how long an unneeded node lives, in hours; `most_nodes` bounds all nodes together (None: nothing)."""

    idle: Fraction
    most_nodes: int | None


@dataclass(frozen=True, slots=True)
class _Run:
    shares: tuple[Share, ...]
    needs: tuple[Needs, ...]
    side: Side


def compare(snapshot: Snapshot, view: Snapshot, works: Sequence[Work], terms: Terms, progress: Progress) -> Comparison:
    """Both sides, from the same cluster and in the same order of work. `view`: as the autoscaler sees it."""
    theirs = _pod_by_pod(snapshot, view, works, terms, progress)
    ours = _by_plan(snapshot, works, terms, progress)
    rows = tuple(map(Compared, works, theirs.shares, ours.shares, ours.needs))
    return Comparison(rows, theirs.side, ours.side)


def _pod_by_pod(snapshot: Snapshot, view: Snapshot, works: Sequence[Work], terms: Terms, progress: Progress) -> _Run:
    """First all is bought, since no pod waits for another; then the nodes arrive, and what can start does."""
    real = snapshot
    bought: list[tuple[tuple[NewNodes, ...], int]] = []
    for at, work in enumerate(works):
        progress("buying pod by pod", at, len(works))
        found = buy(view, work, terms.most_nodes)
        view = found.view
        real = with_new_nodes(real, found.orders)
        bought.append((found.orders, found.served))
    shares: list[Share] = []
    used: set[NodeName] = set()
    for at, (work, (orders, served)) in enumerate(zip(works, bought, strict=True)):
        progress("starting pod by pod", at, len(works))
        began = start(real, work)
        real = began.snapshot
        used |= began.nodes
        shares.append(Share(_outcome(work, began.pods, orders, served), orders, began.pods, began.why))
    return _Run(tuple(shares), (), _side(snapshot, works, shares, used, terms))


def _outcome(work: Work, started: int, orders: Sequence[NewNodes], served: int) -> Outcome:
    if started:
        return Outcome.STARTS if started >= work.pods or work.together else Outcome.PARTIAL
    if not orders:
        return Outcome.WAITS
    return Outcome.WRONG_SHAPE if served >= work.pods else Outcome.PARTIAL


def _by_plan(snapshot: Snapshot, works: Sequence[Work], terms: Terms, progress: Progress) -> _Run:
    shares: list[Share] = []
    needs: list[Needs] = []
    used: set[NodeName] = set()
    real = snapshot
    for at, work in enumerate(works):
        progress("planning", at, len(works))
        _, found = most_of(real, work, CHEAPEST)
        if isinstance(found, NoPlan):
            shares.append(Share(Outcome.WAITS, (), 0, reason_of(found)))
            needs.append(Needs(0, existing=False, pinned=False, never=found.kind is NoPlanKind.NEVER))
            continue
        orders = tuple(NewNodes(each.group, new_before(real, each.group), each.count) for each in found.orders)
        began = start(with_new_nodes(real, orders), work)
        real = began.snapshot
        used |= began.nodes
        outcome = Outcome.STARTS if began.pods and (work.together or began.pods >= work.pods) else Outcome.PARTIAL
        shares.append(Share(outcome, orders, began.pods, began.why))
        needs.append(_needs(found))
    return _Run(tuple(shares), tuple(needs), _side(snapshot, works, shares, used, terms))


def _needs(found: Plan) -> Needs:
    return Needs(
        groups=len(found.orders),
        existing=any(
            isinstance(each.target, ExistingNode) and not is_new(each.target.name) for each in found.placements
        ),
        pinned=found.survival is Survival.PINNED,
        never=False,
    )


def _side(
    snapshot: Snapshot, works: Sequence[Work], shares: Sequence[Share], used: set[NodeName], terms: Terms
) -> Side:
    groups = snapshot.tables.groups
    prices: Mapping[NodeGroupName, Fraction] = {groups[key].name: groups[key].price for key in sorted(groups)}
    nodes = [(name, prices[order.group]) for share in shares for order in share.orders for name in order.names]
    stranded = [price for name, price in nodes if name not in used]
    return Side(
        nodes=len(nodes),
        cost=sum((price for _, price in nodes), Fraction(0)),
        waiting=sum(1 for share in shares if share.outcome is not Outcome.STARTS),
        pods=sum(share.started for share in shares),
        stranded=len(stranded),
        stranded_cost=sum(stranded, Fraction(0)),
        idle_hours=terms.idle * len(stranded),
    )
