"""Karpenter as far as a NodeClaim shows it: launch, registration, initialization, end (group-capacity §6.3)."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from contract.driver.api_server import (
    BARE,
    EVENTS,
    Clients,
    Cluster,
    Hand,
    Outfit,
    api_server,
    condition,
    finalizers,
    with_conditions,
)
from muster_kubeapi import Json, Resource, Target, delete
from muster_provisioner.ports import DeclaredGroup
from muster_servicekit.clock import Clock
from muster_types import NodeGroupName

CLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)
FINALIZER = "karpenter.sh/termination"
GROUP = NodeGroupName("h100-karpenter")
NODE_CLASS = {"group": "test.example.com", "kind": "TestNodeClass", "name": "gpu"}


def always(_: Json) -> bool:
    return True


@dataclass(slots=True)
class FakeKarpenter:
    """`has_stock` decides for each claim once, when it would be launched; `joins` whether a launched machine becomes a
    node; `publishes` whether its devices' drivers ever do."""

    cluster: Clients
    clock: Clock
    has_stock: Callable[[Json], bool] = always
    joins: Callable[[Json], bool] = always
    publishes: Callable[[Json], bool] = always
    reports: bool = True
    seen: list[str] = field(default_factory=list)
    outfit: Outfit = BARE
    _hand: Hand = field(init=False)

    def __post_init__(self) -> None:
        self._hand = Hand(self.cluster.client("karpenter"))

    async def close(self) -> None:
        """Close its connections."""
        await self._hand.client.aclose()

    async def reconcile(self) -> bool:
        """One round over all claims."""
        return any([await self._claim(claim) for claim in await self._hand.all(CLAIMS)])

    async def time_out(self, name: str) -> None:
        """Delete a claim as Karpenter's own timers do."""
        await delete(self._hand.client, Target(CLAIMS, "", name))

    async def _claim(self, claim: Json) -> bool:
        metadata = cast("Json", claim["metadata"])
        if metadata.get("deletionTimestamp"):
            return await self._terminate(claim)
        if FINALIZER not in finalizers(claim):
            return await self._change(claim, {"metadata": {"finalizers": [*finalizers(claim), FINALIZER]}})
        status = cast("Json", claim.get("status") or {})
        true = {
            c["type"] for c in cast("list[dict[str, str]]", status.get("conditions") or []) if c["status"] == "True"
        }
        name = str(metadata["name"])
        if "Launched" not in true:
            return await self._launch(claim, name)
        if "Registered" not in true:
            return self.joins(claim) and await self._register(claim, name)
        if "Initialized" not in true:
            return await self._initialize(claim)
        return False

    async def _launch(self, claim: Json, name: str) -> bool:
        self.seen.append(name)
        if not self.has_stock(claim):
            if self.reports:
                await self._event(claim, "InsufficientCapacityError", "all requested instance types were unavailable")
            return await delete(self._hand.client, Target(CLAIMS, "", name))
        conditions = with_conditions(claim, condition("Launched", "True"))
        return await self._status(claim, {"providerID": f"test:///{name}", "conditions": conditions})

    async def _register(self, claim: Json, name: str) -> bool:
        metadata, spec = cast("Json", claim["metadata"]), cast("Json", claim["spec"])
        node = f"node-{name}"
        labels = {**cast("Json", metadata.get("labels") or {}), "karpenter.sh/registered": "true"}
        taints = [*cast("list[Json]", spec.get("taints") or []), *cast("list[Json]", spec.get("startupTaints") or [])]
        await self.outfit.make(
            self._hand,
            {
                "metadata": {"name": node, "labels": labels, "annotations": metadata.get("annotations") or {}},
                "spec": {"providerID": f"test:///{name}", "taints": taints},
                "status": {"conditions": [condition("Ready", "True")]},
            },
        )
        registered = condition("Registered", "True", since=self.clock.now().isoformat())
        waiting = condition("Initialized", "Unknown", "NodeNotReady", "the node is not ready")
        conditions = with_conditions(claim, registered, waiting)
        return await self._status(claim, {"nodeName": node, "conditions": conditions})

    async def _initialize(self, claim: Json) -> bool:
        spec = cast("Json", claim["spec"])
        why = ""
        if spec.get("startupTaints"):
            why = "StartupTaintsExist"
        elif not self.publishes(claim):
            why = "DRADriverPoolsNotPublished"
        status = cast("Json", claim["status"])
        old = next(c for c in cast("list[dict[str, str]]", status["conditions"]) if c["type"] == "Initialized")
        new = condition("Initialized", "Unknown", why) if why else condition("Initialized", "True")
        if (old["status"], old["reason"]) == (new["status"], new["reason"]):
            return False
        ready = [] if why else [condition("Ready", "True")]
        return await self._status(claim, {"conditions": with_conditions(claim, new, *ready)})

    async def _terminate(self, claim: Json) -> bool:
        if FINALIZER not in finalizers(claim):
            return False
        status = cast("Json", claim.get("status") or {})
        if status.get("nodeName"):
            await self.outfit.remove(self._hand, str(status["nodeName"]))
        kept = [each for each in finalizers(claim) if each != FINALIZER]
        return await self._change(claim, {"metadata": {"finalizers": kept}})

    async def _event(self, claim: Json, reason: str, message: str) -> None:
        metadata = cast("Json", claim["metadata"])
        involved = {"kind": "NodeClaim", "name": metadata["name"], "uid": metadata["uid"]}
        name = f"{metadata['name']}.{reason.lower()}"
        event = {"metadata": {"name": name}, "involvedObject": involved, "reason": reason, "message": message}
        await self._hand.make(EVENTS, "default", event)

    async def _status(self, claim: Json, status: Json) -> bool:
        return await self._change(claim, {"status": status}, "status")

    async def _change(self, claim: Json, change: Json, subresource: str = "") -> bool:
        metadata = cast("Json", claim["metadata"])
        held = {
            **change,
            "metadata": {**cast("Json", change.get("metadata") or {}), "resourceVersion": metadata["resourceVersion"]},
        }
        return await self._hand.change(Target(CLAIMS, "", str(metadata["name"]), subresource), held)


def a_karpenter_group(**driver: object) -> DeclaredGroup:
    """At most six machines of one type in one zone."""
    settings = {
        "type": "karpenter",
        "nodeClassRef": NODE_CLASS,
        "instanceType": "p5.48xlarge",
        "zone": "zone-a",
        "capacityType": "on-demand",
        **driver,
    }
    return DeclaredGroup(GROUP, "karpenter", {"spec": {"maxSize": 6, "driver": settings}})


def labels(obj: Json) -> Json:
    """Of an object."""
    return cast("Json", cast("Json", obj["metadata"]).get("labels") or {})


@asynccontextmanager
async def karpenter_cluster(path: Path, clock: Clock) -> AsyncGenerator[tuple[Cluster, FakeKarpenter]]:
    """A ready node class, Karpenter, and two machines that somebody else claimed for the group."""
    async with api_server(path) as cluster:
        node_class = {"kind": "TestNodeClass", "metadata": {"name": "gpu"}}
        cluster.api.put({**node_class, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        for name in ("by-hand-1", "by-hand-2"):
            spec = {"nodeClassRef": NODE_CLASS, "requirements": []}
            metadata = {"name": name, "labels": {"muster.dev/node-group": GROUP}}
            cluster.api.put({"kind": "NodeClaim", "metadata": metadata, "spec": spec})
        karpenter = FakeKarpenter(cluster, clock)
        cluster.controllers.append(karpenter)
        await cluster.settle()
        try:
            yield cluster, karpenter
        finally:
            await karpenter.close()
