"""Tell the stream what one cluster shows, for as long as it is watched."""

from contextlib import aclosing

import structlog

from muster_cluster_watcher.domain.difference import decide, evolve
from muster_cluster_watcher.domain.facts import Known, Severity
from muster_cluster_watcher.domain.observations import InputMended, InputRejected, Observation
from muster_cluster_watcher.ports import ClusterSource, ObservedStream, Reports, Shown
from muster_types import ClusterId

log = structlog.get_logger("muster.watcher")


class ClusterWatch:
    """One cluster; `reports` hears of each list that has been told."""

    def __init__(self, cluster: ClusterId, source: ClusterSource, stream: ObservedStream, reports: Reports) -> None:
        self._cluster = cluster
        self._source = source
        self._stream = stream
        self._reports = reports

    async def run(self) -> None:
        """Watch for ever."""
        known = await self._stream.known(self._cluster)
        async with aclosing(self._source.watch(known)) as lists:
            async for shown in lists:
                await self._tell(known, shown)

    async def _tell(self, known: Known, shown: Shown) -> None:
        observations = decide(shown.listed, known)
        await self._stream.publish(self._cluster, observations)
        for observation in observations:
            evolve(known, observation)
            self._log(observation)
        self._reports.told(self._cluster, observations, shown)

    def _log(self, observation: Observation) -> None:
        match observation:
            case InputRejected(_, issue):
                log.warning(
                    "input rejected" if issue.severity is Severity.ERROR else "input taken with a warning",
                    cluster=self._cluster,
                    source=issue.source,
                    object=issue.object,
                    field=issue.field,
                    reason=issue.reason,
                )
            case InputMended(_, issue):
                log.info("input mended", cluster=self._cluster, source=issue.source, object=issue.object)
            case _:
                pass
