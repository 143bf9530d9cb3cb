"""The ledger beside the cluster: each booking with its gang's pods and wish."""

from muster_claim_matcher.domain.ledger import Ledger
from muster_claim_matcher.domain.view import Holding
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.handlers.world import ClusterWorld
from muster_plan import Pod
from muster_types import ClusterId, GangId


def holdings_of(cluster: ClusterId, ledger: Ledger, world: ClusterWorld, wishes: Wishes) -> dict[GangId, Holding]:
    """All bookings of a cluster, by gang."""
    return {
        gang: Holding(booking, pods_of(cluster, gang, world, wishes), wishes.get(cluster, gang))
        for gang, booking in ledger.bookings().items()
    }


def pods_of(cluster: ClusterId, gang: GangId, world: ClusterWorld, wishes: Wishes) -> tuple[Pod, ...]:
    """The pods that use what was booked for a gang; none while its wish is not known."""
    wish = wishes.get(cluster, gang)
    return () if wish is None else world.pods_of(wish.namespace, wish.name)
