"""The fake API server with the kinds of both back-ends, a client for it, and controllers that move when told."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from muster_kubeapi import Conflict, Json, KubeClient, KubeConfig, Missing, Resource, Target, create, list_pages, patch
from support.kube_api import DEFAULT_TYPES, KubeApi, ResourceType, selectors
from support.nats_server import wait_until

NODE_CLASS = ResourceType("test.example.com", ("v1",), "TestNodeClass", "testnodeclasses", False, builtin=False)
_SUBRESOURCES = frozenset({"status"})
_MORE = (
    NODE_CLASS,
    ResourceType("", ("v1",), "Event", "events", True),
    ResourceType("cluster.x-k8s.io", ("v1beta2",), "Cluster", "clusters", True, _SUBRESOURCES, builtin=False),
    ResourceType(
        "cluster.x-k8s.io",
        ("v1beta2",),
        "MachineSet",
        "machinesets",
        True,
        frozenset({"status", "scale"}),
        builtin=False,
    ),
    ResourceType(
        "infrastructure.cluster.x-k8s.io",
        ("v1beta2",),
        "TestMachineTemplate",
        "testmachinetemplates",
        True,
        builtin=False,
    ),
)
# Events are found by what they are about; the fake server takes selectors of the fields that it knows.
_ABOUT = ("involvedObject.kind", "involvedObject.name", "involvedObject.uid")
selectors._FIELDS = tuple(dict.fromkeys((*selectors._FIELDS, *_ABOUT)))  # pyright: ignore[reportPrivateUsage]
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)


def types() -> tuple[ResourceType, ...]:
    """What the server has: the usual kinds and those of the back-ends, each once."""
    had = {each.kind for each in DEFAULT_TYPES}
    return (*DEFAULT_TYPES, *(each for each in _MORE if each.kind not in had))


class Controller(Protocol):
    """A back-end's controller; it works only when told."""

    async def reconcile(self) -> bool:
        """One round; whether anything was done."""
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
    async with KubeApi(types()) as api:
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
