"""A live cluster as a source: every kind that Muster reads is listed and watched through the API server."""

import time
from collections.abc import AsyncGenerator

from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_cluster_watcher.adapters.kubernetes_cursor import Cursors
from muster_cluster_watcher.adapters.kubernetes_image import ORIGIN, ClusterImage
from muster_cluster_watcher.adapters.kubernetes_watches import LiveOptions, Watches
from muster_cluster_watcher.domain.facts import Known
from muster_cluster_watcher.ports import Shown
from muster_eventstore import PermanentError
from muster_kube import KINDS
from muster_kubeapi import AccessInvalid, KubeClient
from muster_types import ClusterId


class KubernetesSource:
    """One cluster. With `declared`, node groups come from these files and not from the API server."""

    def __init__(
        self,
        cluster: ClusterId,
        client: KubeClient,
        cursors: Cursors,
        options: LiveOptions,
        declared: DirectorySource | None = None,
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._cursors = cursors
        self._options = options
        self._declared = declared

    async def watch(self, known: Known, /) -> AsyncGenerator[Shown]:
        """The first is whole: it comes when every kind was listed, or goes on where an earlier watch had ended.

        Raises PermanentError when there is no usable configuration of the cluster.
        """
        try:
            identity = await self._client.identity()
        except AccessInvalid as error:
            raise PermanentError("CLUSTER_ACCESS", f"cluster {self._cluster!r}: {error}") from error
        image = ClusterImage((kind for kind in KINDS if kind not in self._options.skipped), known)
        watches = Watches(self._cluster, self._client, self._options, image, self._declared)
        # Where another source has written to the stream too, nobody knows whether it was before or after the cursor.
        alone = not known.syncs.keys() - {ORIGIN}
        watches.start(await self._cursors.load(self._cluster, identity) if alone else {})
        next_save = 0.0
        try:
            while True:
                await image.wait()
                watches.check()
                if not image.whole:
                    continue
                news = image.take()
                if not news.empty:
                    yield Shown(news.changed)
                if time.monotonic() >= next_save:
                    await self._cursors.save(self._cluster, identity, watches.paths_of(news.versions))
                    next_save = time.monotonic() + self._options.save
        finally:
            await watches.stop()
