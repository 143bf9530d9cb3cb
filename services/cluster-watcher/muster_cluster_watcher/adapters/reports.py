"""Figures for Prometheus, and the moment when every cluster has been told whole."""

import asyncio
from collections.abc import Sequence

from prometheus_client import Counter, Gauge

from muster_cluster_watcher.domain.facts import Severity
from muster_cluster_watcher.domain.observations import Observation
from muster_cluster_watcher.ports import Shown
from muster_types import ClusterId

_FACTS = Counter("muster_watcher_observations_total", "Observations published, by type", ("cluster", "type"))
_PROBLEMS = Gauge("muster_watcher_rejected_inputs", "Inputs that cannot be read now", ("cluster",))
_WARNINGS = Gauge("muster_watcher_input_warnings", "Warnings about inputs that are taken now", ("cluster",))


class WatchReports:
    """What `/metrics` shows, and readiness."""

    def __init__(self, clusters: Sequence[ClusterId]) -> None:
        self._waiting = set(clusters)
        self._synced = asyncio.Event()

    async def wait_synced(self) -> None:
        """Every cluster's first list is on the stream."""
        await self._synced.wait()

    def told(self, cluster: ClusterId, observations: Sequence[Observation], shown: Shown) -> None:
        """Count what was published."""
        for observation in observations:
            _FACTS.labels(cluster, type(observation).__name__).inc()
        warnings = sum(issue.severity is Severity.WARNING for issue in shown.listed.issues.values())
        _PROBLEMS.labels(cluster).set(len(shown.listed.issues) - warnings)
        _WARNINGS.labels(cluster).set(warnings)
        self._waiting.discard(cluster)
        if not self._waiting:
            self._synced.set()
