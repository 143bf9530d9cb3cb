"""ReleaseGang: what was promised is free again, or is held by the cluster itself."""

from muster_claim_matcher.domain.consumption import AllocatedClaims, unshown_claims
from muster_claim_matcher.domain.ledger import ReleaseGang
from muster_claim_matcher.domain.wishes import ReleaseAsked
from muster_claim_matcher.handlers.cluster import Clusters
from muster_claim_matcher.handlers.holdings import pods_of
from muster_claim_matcher.handlers.subjects import ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.ports import Ledgers
from muster_eventstore import Cause, TransientError
from muster_types import ClusterId, GangId

CONSUMED = "consumed"


class Releaser:
    """Releases at once, unless the gang was consumed: then the booking stays until the cluster shows what took its
    place, so that there is no moment at which a promised device looks free."""

    def __init__(self, clusters: Clusters, ledgers: Ledgers, wishes: Wishes) -> None:
        self._clusters = clusters
        self._ledgers = ledgers
        self._wishes = wishes

    async def release(self, cluster: ClusterId, asked: ReleaseAsked, cause: Cause) -> None:
        """Raises TransientError while bound pods of a consumed gang show claims without allocation."""
        subject = ledger_subject(cluster)
        if asked.cause == CONSUMED and self._ledgers.state(subject).standing(asked.gang).booking is not None:
            await self._check_shown(cluster, asked.gang)
        await self._ledgers.handle(subject, ReleaseGang(asked.gang, asked.cause), cause)
        self._wishes.drop(cluster, asked.gang)

    async def _check_shown(self, cluster: ClusterId, gang: GangId) -> None:
        # Whoever saw all pods bound saw facts that are in the stream by now; with these the answer is final.
        seen = await self._clusters.seen_now(cluster)
        if self._wishes.get(cluster, gang) is None:
            raise TransientError(f"gang {gang} stays booked: its request is not known, so its pods are not")
        pods = pods_of(cluster, gang, seen.world, self._wishes)
        unshown = unshown_claims(pods, AllocatedClaims(seen.snapshot.tables.claims))
        if unshown:
            raise TransientError(
                f"gang {gang} stays booked: {unshown[0].sentence()}"
                + (f", and {len(unshown) - 1} more pods" if len(unshown) > 1 else "")
            )
