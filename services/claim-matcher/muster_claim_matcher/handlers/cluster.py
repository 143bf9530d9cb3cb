"""One cluster's view at a moment: waiting until it is fit to plan on."""

from dataclasses import dataclass

from muster_claim_matcher.handlers.world import ClusterWorld, World
from muster_claim_matcher.ports import NewestFact, Observations
from muster_eventstore import TransientError
from muster_plan import Snapshot
from muster_types import ClusterId


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster as of a sequence of `observed`."""

    world: ClusterWorld
    snapshot: Snapshot
    sequence: int


class Clusters:
    """`wait` is how long, in seconds, a command waits for facts that it must not miss."""

    def __init__(self, world: World, observations: Observations, newest: NewestFact, wait: float) -> None:
        self._world = world
        self._observations = observations
        self._newest = newest
        self._wait = wait

    async def seen(self, cluster: ClusterId, sequence: int) -> Seen:
        """The cluster at `sequence` of `observed` or later, its list whole.

        Raises TransientError, which has the command tried again, when that does not come about in time.
        """
        if not await self._observations.wait_for(sequence, self._wait):
            raise TransientError(
                f"cluster {cluster}: fact {sequence} of stream 'observed' is not here after {self._wait:g} s, "
                f"only {self._observations.position}"
            )
        world = self._world.cluster(cluster)
        if not world.listed:
            raise TransientError(
                f"cluster {cluster}: no source has reported all its objects yet; is its cluster-watcher running?"
            )
        return Seen(world, world.snapshot(), self._observations.position)

    async def seen_now(self, cluster: ClusterId) -> Seen:
        """The cluster with everything that was observed up to this call."""
        return await self.seen(cluster, await self._newest())

    def current(self, cluster: ClusterId) -> Seen:
        """The cluster as far as it is known, for a query."""
        world = self._world.cluster(cluster)
        return Seen(world, world.snapshot(), self._observations.position)
