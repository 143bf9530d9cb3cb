"""What a follower knows after all it was told; and certificates for servers of a test's own."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muster_kubeapi import Json, KubeClient, Pace, Page, Resource, Trouble, follow
from muster_kubeapi.following import Sleep
from support.kube_api import KubeApi
from support.nats_server import wait_until

NODES = Resource("", "v1", "nodes", "Node", False)
PODS = Resource("", "v1", "pods", "Pod", True)
REQUESTS = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", True)


def a_node(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@dataclass(slots=True)
class Follower:
    """Objects by name as the follower knows them, and how it came to."""

    objects: dict[str, Json] = field(default_factory=dict)
    lists: int = 0
    troubles: list[Trouble] = field(default_factory=list)
    version: str = ""
    failed: list[BaseException] = field(default_factory=list)
    _listing: dict[str, Json] = field(default_factory=dict)

    def names(self) -> list[str]:
        return sorted(self.objects)

    async def run(self, client: KubeClient, resource: Resource, since: str, pace: Pace) -> None:
        async for told in follow(client, resource, since=since, pace=pace, trouble=self.troubles.append):
            if isinstance(told, Page):
                if told.first:
                    self._listing = {}
                self._listing |= {_name(obj): obj for obj in told.items}
                if told.version:
                    self.objects, self.lists = self._listing, self.lists + 1
            else:
                for change in told.changes:
                    if change.gone:
                        del self.objects[_name(change.obj)]
                    else:
                        self.objects[_name(change.obj)] = change.obj
            self.version = told.version or self.version


def quick(page: int = 500, sleep: Sleep = asyncio.sleep) -> Pace:
    """Pauses of milliseconds."""
    return Pace(page=page, first_pause=0.002, longest_pause=0.01, sleep=sleep)


@asynccontextmanager
async def following(
    client: KubeClient, resource: Resource = NODES, *, since: str = "", pace: Pace | None = None
) -> AsyncGenerator[Follower]:
    """A follower at work; a failure of its own fails the test at the end."""
    follower = Follower()
    task = asyncio.create_task(follower.run(client, resource, since, pace or quick()))
    try:
        yield follower
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        if not isinstance(ended, asyncio.CancelledError) and ended is not None:
            follower.failed.append(ended)


async def wait_for_names(follower: Follower, api: KubeApi, kind: str = "Node", deadline: float = 20.0) -> None:
    """Until the follower knows exactly what the server has."""

    def level() -> bool:
        has = {_name(obj): obj["metadata"]["resourceVersion"] for obj in api.all(kind)}  # pyright: ignore[reportIndexIssue] -- stored objects have metadata
        return {name: obj["metadata"]["resourceVersion"] for name, obj in follower.objects.items()} == has  # pyright: ignore[reportIndexIssue]

    await wait_until(level, "the follower knows what the server has", deadline)


async def until(condition: Callable[[], bool], what: str) -> None:
    await wait_until(condition, what, 20.0)


def certified(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context and the authority that clients trust."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


def _name(obj: Json) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"])
