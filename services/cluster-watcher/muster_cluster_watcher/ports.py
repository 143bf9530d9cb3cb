"""What the handler needs: something that shows a cluster, and the stream that it tells it to."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from muster_cluster_watcher.domain.facts import Changed, Known, Listed
from muster_cluster_watcher.domain.observations import Observation
from muster_types import ClusterId


@dataclass(frozen=True, slots=True)
class Shown:
    """A list or a change of one."""

    listed: Listed | Changed


class ClusterSource(Protocol):
    """Where a cluster is seen. A source recovers from its own faults; it ends only when it is closed."""

    def watch(self, known: Known, /) -> AsyncGenerator[Shown]:
        """The cluster now, then its changes as they come; some that differ in nothing may come too.

        `known` is what was told before this call: a source that can goes on from there. To ask for the next means that
        what was shown before is stored.
        """
        ...


class ObservedStream(Protocol):
    """The stream `observed`, of which this service is the one writer."""

    async def known(self, cluster: ClusterId) -> Known:
        """What the stream says about a cluster now."""
        ...

    async def publish(self, cluster: ClusterId, observations: Sequence[Observation]) -> None:
        """Store the observations in order; when this returns they are on disk. A repeat does no harm."""
        ...


class Reports(Protocol):
    """Who wants to know what was told: figures, readiness."""

    def told(self, cluster: ClusterId, observations: Sequence[Observation], shown: Shown) -> None:
        """`observations` are on the stream; they may be none."""
        ...
