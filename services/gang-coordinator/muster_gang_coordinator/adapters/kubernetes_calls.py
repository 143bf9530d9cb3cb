"""What every write to a live cluster shares: the API server of each cluster, and its failures in the ports' words."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from muster_eventstore import PermanentError, TransientError
from muster_kubeapi import (
    AccessInvalid,
    Expired,
    KubeClient,
    Lacking,
    Refused,
    Resource,
    Served,
    Target,
    Unreachable,
    Wanted,
    discover,
)
from muster_types import ClusterId, NodeName, ObjectKey

T = TypeVar("T")
log = structlog.get_logger("muster.cluster")

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
REQUEST, RULE, GROUP = "ProvisioningRequest", "DeviceTaintRule", "PodGroup"
_WANTED = (
    Wanted(REQUEST, "autoscaling.x-k8s.io", ("v1", "v1beta1"), "provisioningrequests"),
    Wanted(GROUP, "scheduling.k8s.io", ("v1beta1", "v1alpha3", "v1alpha2"), "podgroups"),
    Wanted(RULE, "resource.k8s.io", ("v1", "v1beta2", "v1alpha3"), "devicetaintrules"),
)
_AT_ONCE = 16  # calls
_LOOK_AGAIN = 60.0  # seconds before a kind that was not served is looked for once more


@dataclass(slots=True)
class ClusterApi:
    """One cluster's API server, and which of the kinds that the coordinator writes it has."""

    cluster: ClusterId
    client: KubeClient
    _served: dict[str, Resource] = field(default_factory=dict[str, Resource])
    _looked_at: float | None = None

    async def resource(self, kind: str) -> Resource | None:
        """A kind as it is served; None where it is not. Raises KubeError."""
        if kind not in self._served:
            now = time.monotonic()
            if self._looked_at is None or now - self._looked_at >= _LOOK_AGAIN:
                found = await discover(self.client, _WANTED)
                self._looked_at = now
                self._served |= {name: each.resource for name, each in found.items() if isinstance(each, Served)}
                for each in found.values():
                    if isinstance(each, Lacking):
                        log.info("a kind is not served, so it is not written", cluster=self.cluster, reason=each.reason)
        return self._served.get(kind)

    async def request(self, key: ObjectKey, subresource: str = "") -> Target | None:
        """Where a ProvisioningRequest is; None where the cluster has no such kind. Raises KubeError."""
        resource = await self.resource(REQUEST)
        return None if resource is None else Target(resource, key.namespace, key.name, subresource)

    def forget(self) -> None:
        """What was served may be no more."""
        self._served.clear()
        self._looked_at = None


async def each_of(items: Collection[T], write: Callable[[T], Awaitable[None]]) -> None:
    """Write all, some side by side; the first failure is raised when all have ended."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(item: T) -> None:
        async with slots:
            await write(item)

    answers = await asyncio.gather(*map(one, items), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    if failed:
        raise failed[0]


def node_target(node: NodeName) -> Target:
    """Where a node is."""
    return Target(NODES, "", node)


@contextmanager
def in_our_words(api: ClusterApi) -> Generator[None]:
    """KubeErrors as TransientError, which is tried again, or PermanentError."""
    try:
        yield
    except (Unreachable, AccessInvalid, Expired) as error:
        raise TransientError(f"cluster {api.cluster!r}: {error}") from error
    except Refused as error:
        if error.status == 404:  # a kind that is served no more, or in another version: an object that is gone is none
            api.forget()
            raise TransientError(f"cluster {api.cluster!r}: {error}") from error
        if error.status in (401, 403):
            # An operator may allow it at any time, and a capacity that is there must then be told of.
            log.warning("the cluster forbids a call; allow it to this service", cluster=api.cluster, reason=str(error))
            raise TransientError(f"cluster {api.cluster!r}: {error}") from error
        raise PermanentError("CLUSTER_REFUSED", f"cluster {api.cluster!r}: {error}") from error
