"""The fake API server with the kinds of both back-ends, a client for it, and controllers that move when told."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from muster_kubeapi import (
    Conflict,
    Json,
    KubeClient,
    KubeConfig,
    Missing,
    Resource,
    Target,
    create,
    delete,
    list_pages,
    patch,
)
from support.kube_api import KubeApi, backend_types
from support.nats_server import wait_until

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)


class Controller(Protocol):
    """A back-end's controller; it works only when told."""

    async def reconcile(self) -> bool:
        """One round; whether anything was done."""
        ...


class Clients(Protocol):
    """A server, as its clients need it."""

    def client(self, agent: str) -> KubeClient:
        """Another client."""
        ...


@dataclass(slots=True)
class Cluster:
    """An API server with a kubeconfig that names it."""

    api: KubeApi
    kubeconfig: Path
    controllers: list[Controller] = field(default_factory=list)

    def client(self, agent: str) -> KubeClient:
        """Another client of the server."""
        return KubeClient(KubeConfig(self.kubeconfig), agent=agent)

    async def settle(self) -> None:
        """Let the controllers work until none has anything to do."""
        for _ in range(200):
            if not any([await each.reconcile() for each in self.controllers]):
                return
        raise AssertionError("the controllers find no end")


@asynccontextmanager
async def api_server(path: Path) -> AsyncGenerator[Cluster]:
    """A server for the time of the block."""
    async with KubeApi(backend_types()) as api:
        yield Cluster(api, api.kubeconfig(path / "kubeconfig"))


class Hand:
    """What a controller does with its objects, by the rules for any client."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client

    async def all(self, resource: Resource, selector: str = "") -> list[Json]:
        """Every object of a kind, by namespace and name."""
        return [
            item async for page in list_pages(self.client, resource, label_selector=selector) for item in page.items
        ]

    async def make(self, resource: Resource, namespace: str, obj: Mapping[str, object]) -> bool:
        """Create an object; whether it was not there."""
        return not isinstance(await create(self.client, resource, namespace, obj), Conflict)

    async def change(self, target: Target, change: Mapping[str, object]) -> bool:
        """A merge patch; whether it was stored."""
        return not isinstance(await patch(self.client, target, change), Conflict | Missing)


@dataclass(frozen=True, slots=True)
class Outfit:
    """What a new machine shows: labels and resources of its node, ResourceSlice specs without node and pool."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    allocatable: Mapping[str, str] = field(default_factory=dict[str, str])
    slices: Sequence[Mapping[str, object]] = ()

    async def make(self, hand: Hand, node: Mapping[str, object]) -> None:
        """The node, and its slices; what is there already stays."""
        metadata, status = cast("Json", node["metadata"]), cast("Json", node.get("status") or {})
        labels = {**self.labels, **cast("Json", metadata.get("labels") or {})}
        shown = {**status, **({"allocatable": self.allocatable} if self.allocatable else {})}
        await hand.make(NODES, "", {**node, "metadata": {**metadata, "labels": labels}, "status": shown})
        for name, spec in self._named(str(metadata["name"])):
            await hand.make(SLICES, "", {"metadata": {"name": name}, "spec": spec})

    async def remove(self, hand: Hand, node: str) -> None:
        """The slices, then the node."""
        for name, _ in self._named(node):
            await delete(hand.client, Target(SLICES, "", name))
        await delete(hand.client, Target(NODES, "", node))

    def _named(self, node: str) -> list[tuple[str, Json]]:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        return [(f"{node}-{index}", {**spec, "nodeName": node, "pool": pool}) for index, spec in enumerate(self.slices)]


BARE = Outfit()


def finalizers(obj: Json) -> list[str]:
    """Who still holds an object."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return [str(each) for each in metadata.get("finalizers") or ()]


def condition(type: str, status: str, reason: str = "", message: str = "", since: str = "") -> dict[str, str]:
    """A condition as controllers write it."""
    return {
        "type": type,
        "status": status,
        "reason": reason or type,
        "message": message,
        "lastTransitionTime": since or "2026-01-01T00:00:00Z",
    }


def with_conditions(obj: Json, *changed: Mapping[str, str]) -> list[object]:
    """The conditions of an object with some of them replaced."""
    status = obj.get("status")
    old: Sequence[Mapping[str, str]] = status.get("conditions") or () if isinstance(status, dict) else ()
    names = {each["type"] for each in changed}
    return [*(each for each in old if each["type"] not in names), *changed]


async def wait_watching(cluster: Cluster) -> None:
    """Until a driver has begun to watch."""
    await wait_until(lambda: any(call.verb == "watch" for call in cluster.api.users.calls), "the driver watches")
