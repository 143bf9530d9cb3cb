"""Looks at the cluster's Kueue configuration for what would keep requests from ever reaching Muster (trap T33)."""

from collections.abc import Mapping

import structlog

from muster_eventstore import PermanentError, TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi, in_our_words
from muster_gang_coordinator.ports import Clock
from muster_gang_coordinator.wire.kueue import config_problems
from muster_kubeapi import Refused, Served, Wanted, discover, list_pages
from muster_types import ClusterId

log = structlog.get_logger("muster.kueue")
_KIND = "ProvisioningRequestConfig"
_CONFIGS = Wanted(_KIND, "kueue.x-k8s.io", ("v1beta2", "v1beta1"), "provisioningrequestconfigs")
_LOOK = 3600.0  # seconds


class KueueConfigs:
    """Reads them now and then; a cluster without Kueue, or that forbids it, has none."""

    def __init__(self, apis: Mapping[ClusterId, ClusterApi], classes: tuple[str, ...], clock: Clock) -> None:
        self._apis = apis
        self._classes = classes
        self._clock = clock

    async def run(self) -> None:
        """Say every hour what is wrong, until cancelled."""
        while True:
            for cluster in sorted(self._apis):
                try:
                    for problem in await self.problems(cluster):
                        log.warning("Kueue is set up wrongly", cluster=cluster, reason=problem)
                except (TransientError, PermanentError) as error:
                    log.info("the set-up of Kueue is not read", cluster=cluster, reason=str(error))
            await self._clock.sleep(_LOOK)

    async def problems(self, cluster: ClusterId) -> tuple[str, ...]:
        """One sentence each, by config. Raises TransientError, PermanentError."""
        api = self._apis[cluster]
        with in_our_words(api):
            found = (await discover(api.client, [_CONFIGS]))[_KIND]
            if not isinstance(found, Served):
                return ()
            try:
                pages = [page async for page in list_pages(api.client, found.resource)]
            except Refused as error:
                if error.status == 403:
                    return ()  # nobody needs to allow it
                raise
        return tuple(
            problem for page in pages for config in page.items for problem in config_problems(config, self._classes)
        )
