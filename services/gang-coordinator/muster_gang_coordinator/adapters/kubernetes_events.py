"""Notices as Kubernetes Events at the object that they are about, where `kubectl describe` shows them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi, in_our_words
from muster_gang_coordinator.domain.notices import Notice
from muster_kubeapi import Refused, Resource, create
from muster_types import ClusterId

_EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
_API_VERSIONS = {"ProvisioningRequest": "autoscaling.x-k8s.io/v1", "PodGroup": "scheduling.k8s.io/v1beta1"}


class KubernetesEvents:
    """The port Notices. The name of an Event follows from what it says, so it is made once, whoever says it again."""

    def __init__(self, apis: Mapping[ClusterId, ClusterApi], now: Callable[[], datetime]) -> None:
        self._apis = apis
        self._now = now

    async def tell(self, cluster: ClusterId, notice: Notice) -> None:
        """Nothing happens where a cluster is not written to, or forbids it. Raises TransientError, PermanentError."""
        api = self._apis.get(cluster)
        if api is None:
            return
        about, key = notice.about, notice.about.key
        time = self._now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        digest = sha256(f"{notice.code.value}/{about.uid}/{notice.sentence}".encode()).hexdigest()[:16]
        involved = {"kind": key.kind, "namespace": key.namespace, "name": key.name}
        event = {
            "metadata": {"name": f"{key.name}.{digest}", "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": _API_VERSIONS.get(key.kind, "v1"),
                **involved,
                **({"uid": about.uid} if about.uid else {}),
            },
            "type": "Warning",
            "reason": notice.code.value,
            "message": notice.sentence[:1024],
            "source": {"component": "muster-gang-coordinator"},
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }
        with in_our_words(api):
            try:
                await create(api.client, _EVENTS, key.namespace, event)
            except Refused as error:
                if error.status not in (403, 404):  # an operator may not want them, and they are told elsewhere too
                    raise


class NoEvents:
    """The port Notices where no API server is."""

    async def tell(self, cluster: ClusterId, notice: Notice) -> None:
        """Nothing happens: the log and the figures have it."""


NO_EVENTS = NoEvents()
