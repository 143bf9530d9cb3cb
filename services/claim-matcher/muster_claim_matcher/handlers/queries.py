"""Answers about what fits and what is promised. Nothing is booked."""

from dataclasses import dataclass

from muster_claim_matcher.domain.matching import list_provisionable, match_node, match_nodes, read_claims
from muster_claim_matcher.domain.outcomes import to_unreadable
from muster_claim_matcher.domain.plans import BookedPlan, Refusal
from muster_claim_matcher.domain.view import open_view, view_for
from muster_claim_matcher.domain.views import BookingView, NodeMatch, Provisionable
from muster_claim_matcher.domain.wishes import Json, Wish
from muster_claim_matcher.handlers.book import plan_on
from muster_claim_matcher.handlers.cluster import Clusters
from muster_claim_matcher.handlers.export import export_state
from muster_claim_matcher.handlers.holdings import holdings_of
from muster_claim_matcher.handlers.subjects import ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.ports import Ledgers, Work
from muster_dra import InvalidObject, ResourceClaim
from muster_plan import Gang, InvalidGang, Policy, Snapshot
from muster_servicekit.errors import Invalid
from muster_types import ClusterId, GangId, NodeGroupName, NodeName, ObjectKey


@dataclass(frozen=True, slots=True)
class Supposed:
    """A cluster that is not: groups added or replaced, nodes gone, groups left out of the plan."""

    node_groups: tuple[Json, ...]
    nodes_gone: tuple[NodeName, ...]
    excluded: tuple[NodeGroupName, ...]


class Queries:
    """Every answer comes with the sequence of `observed` that it reflects. Long computations run beside the loop."""

    def __init__(self, clusters: Clusters, ledgers: Ledgers, wishes: Wishes, work: Work, policy: Policy) -> None:
        self._clusters = clusters
        self._ledgers = ledgers
        self._wishes = wishes
        self._work = work
        self._policy = policy

    async def match(
        self, cluster: ClusterId, claims: list[Json], nodes: tuple[NodeName, ...], limit: int
    ) -> tuple[list[NodeMatch], int]:
        """Which nodes can hold these claims of one pod together. Raises Invalid for a claim that cannot be read."""
        read = _read(claims)
        view, sequence = self._open(cluster)
        return await self._work(lambda: match_nodes(view, read, nodes, limit)), sequence

    async def explain(self, cluster: ClusterId, claims: list[Json], node: NodeName) -> tuple[NodeMatch, int]:
        """Why these claims fit, or do not, on one node. Raises Invalid."""
        read = _read(claims)
        view, sequence = self._open(cluster)
        return await self._work(lambda: match_node(view, node, read)), sequence

    async def what_if(self, cluster: ClusterId, wish: Wish, supposed: Supposed) -> tuple[BookedPlan | Refusal, int]:
        """The plan of a gang in a supposed cluster. Raises Invalid for a group that cannot be read."""
        gang = GangId(f"{wish.namespace}/{wish.name}")
        seen = self._clusters.current(cluster)
        holdings = holdings_of(cluster, self._ledgers.state(ledger_subject(cluster)), seen.world, self._wishes)
        gone = [ObjectKey("Node", "", name) for name in supposed.nodes_gone]
        snapshot = seen.snapshot.apply(supposed.node_groups, gone)
        for obj in supposed.node_groups:
            _refuse_unreadable(snapshot, obj)
        view = view_for(snapshot, gang, wish, holdings, ())

        def compute() -> BookedPlan | Refusal:
            read = Gang.from_request(wish.request, view, gang=gang)
            if isinstance(read, InvalidGang):
                return to_unreadable(read)
            return plan_on(view, read, supposed.excluded, self._policy)

        return await self._work(compute), seen.sequence

    def list_bookings(self, cluster: ClusterId) -> list[BookingView]:
        """What is promised, by gang."""
        bookings = self._ledgers.state(ledger_subject(cluster)).bookings()
        return [
            BookingView(gang, booking.attempt, booking.confirmed, booking.members) for gang, booking in bookings.items()
        ]

    async def list_provisionable(self, cluster: ClusterId, claims: list[Json]) -> tuple[list[Provisionable], int]:
        """What each group could add, and how often the claims would fit there. Raises Invalid."""
        read = _read(claims)
        view, sequence = self._open(cluster)
        return await self._work(lambda: list_provisionable(view, read)), sequence

    def export(self, cluster: ClusterId) -> bytes:
        """The ledger as canonical JSON."""
        return export_state(cluster, self._ledgers.state(ledger_subject(cluster)))

    def _open(self, cluster: ClusterId) -> tuple[Snapshot, int]:
        seen = self._clusters.current(cluster)
        holdings = holdings_of(cluster, self._ledgers.state(ledger_subject(cluster)), seen.world, self._wishes)
        return open_view(seen.snapshot, holdings), seen.sequence


def _read(claims: list[Json]) -> tuple[ResourceClaim, ...]:
    try:
        return read_claims(claims)
    except InvalidObject as fault:
        raise Invalid(f"claims_json: {fault}", "BAD_CLAIM") from fault


def _refuse_unreadable(snapshot: Snapshot, obj: Json) -> None:
    for key, problem in snapshot.problems.items():
        if key.kind == "NodeGroup" and problem.name == _name(obj):
            raise Invalid(f"node_groups_json: {problem}", "BAD_NODE_GROUP")


def _name(obj: Json) -> str:
    match obj:
        case {"metadata": {"name": str(name)}}:
            return name
        case _:
            return ""
