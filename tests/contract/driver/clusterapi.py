"""Cluster API as far as its objects show it: machines for replicas, their life, their end (group-capacity §6.1)."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from contract.driver.api_server import (
    BARE,
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

API = "cluster.x-k8s.io"
VERSION = "v1beta2"
MACHINES = Resource(API, VERSION, "machines", "Machine", namespaced=True)
SIZED = {
    "MachineDeployment": Resource(API, VERSION, "machinedeployments", "MachineDeployment", namespaced=True),
    "MachineSet": Resource(API, VERSION, "machinesets", "MachineSet", namespaced=True),
    "MachinePool": Resource(API, VERSION, "machinepools", "MachinePool", namespaced=True),
}
FINALIZER = "machine.cluster.x-k8s.io"
GROUP = NodeGroupName("h100-capi")
NAMESPACE = "fleet"
DELETE_MACHINE = f"{API}/delete-machine"
PAUSED = f"{API}/paused"


def always(_: Json) -> bool:
    return True


@dataclass(slots=True)
class FakeClusterApi:
    """`has_stock` is asked for each machine that has no infrastructure yet, `joins` whether it becomes a node now;
    `pool_machines` tells pools whose provider shows Machines from those whose provider does not. `life` sets the names
    of its machines apart from those of an earlier controller: no name is ever used twice."""

    cluster: Clients
    has_stock: Callable[[Json], bool] = always
    pool_machines: bool = False
    since: Callable[[], str] = lambda: "2026-01-01T00:00:00Z"
    made: int = 0
    joins: Callable[[Json], bool] = always
    life: str = ""
    outfit: Outfit = BARE
    _hand: Hand = field(init=False)

    def __post_init__(self) -> None:
        self._hand = Hand(self.cluster.client("capi"))

    async def close(self) -> None:
        """Close its connections."""
        await self._hand.client.aclose()

    async def reconcile(self) -> bool:
        """One round over everything."""
        busy = False
        for kind, resource in SIZED.items():
            for owner in await self._hand.all(resource):
                if PAUSED in _part(owner, "metadata", "annotations"):
                    continue
                if kind == "MachinePool" and not self.pool_machines:
                    busy |= await self._pool(owner)
                else:
                    busy |= await self._replicas(owner, kind)
        for machine in await self._hand.all(MACHINES):
            busy |= await self._machine(machine)
        return busy

    async def _replicas(self, owner: Json, kind: str) -> bool:
        name, namespace = str(_part(owner, "metadata")["name"]), str(_part(owner, "metadata")["namespace"])
        part = {"MachineDeployment": "deployment-name", "MachineSet": "set-name", "MachinePool": "pool-name"}[kind]
        label = f"{API}/{part}"
        owned = await self._hand.all(MACHINES, f"{label}={name}")
        staying = [each for each in owned if not _part(each, "metadata").get("deletionTimestamp")]
        wanted = cast("int", _part(owner, "spec").get("replicas", 0))
        for _ in range(wanted - len(staying)):
            self.made += 1
            metadata = {
                "name": f"{name}-{self.life}{self.made:05d}",
                "labels": {label: name, f"{API}/cluster-name": "workload"},
                "finalizers": [FINALIZER],
            }
            await self._hand.make(MACHINES, namespace, {"metadata": metadata, "spec": {"clusterName": "workload"}})
        # Marked ones first, then those without a node; then, as by the policy Random, whichever comes.
        surplus = sorted(
            staying,
            key=lambda each: (
                DELETE_MACHINE not in _part(each, "metadata", "annotations"),
                bool(_part(each, "status", "nodeRef")),
            ),
        )
        for machine in surplus[: max(len(staying) - wanted, 0)]:
            await delete(self._hand.client, _target(machine))
        shown = _part(owner, "status").get("replicas", 0)
        if shown != len(staying):
            target = Target(SIZED[kind], namespace, name, "status")
            await self._hand.change(target, {"status": {"replicas": len(staying)}})
        return len(staying) != wanted or shown != len(staying)

    async def _machine(self, machine: Json) -> bool:
        name = str(_part(machine, "metadata")["name"])
        if _part(machine, "metadata").get("deletionTimestamp"):
            if FINALIZER not in finalizers(machine):
                return False
            await self.outfit.remove(self._hand, f"node-{name}")
            return await self._hand.change(_target(machine), {"metadata": {"finalizers": []}})
        if _part(machine, "status", "nodeRef"):
            return False
        known = _part(machine, "metadata", "annotations").get("test/out-of-stock")
        if known or not self.has_stock(machine):
            return await self._out_of_stock(machine) if not known else False
        if not self.joins(machine):
            return False
        await self._node(f"node-{name}", f"test:///{name}")
        await self._hand.change(_target(machine), {"spec": {"providerID": f"test:///{name}"}})
        conditions = with_conditions(machine, condition("InfrastructureReady", "True"), condition("NodeReady", "True"))
        status = {"phase": "Running", "nodeRef": {"name": f"node-{name}"}, "conditions": conditions}
        return await self._hand.change(_target(machine, "status"), {"status": status})

    async def _out_of_stock(self, machine: Json) -> bool:
        text = "InsufficientInstanceCapacity: we do not have sufficient capacity for the instance type you requested"
        failing = condition("InfrastructureReady", "False", "InstanceProvisionFailed", text, since=self.since())
        await self._hand.change(_target(machine), {"metadata": {"annotations": {"test/out-of-stock": "true"}}})
        status = {"phase": "Provisioning", "conditions": with_conditions(machine, failing)}
        return await self._hand.change(_target(machine, "status"), {"status": status})

    async def _pool(self, owner: Json) -> bool:
        """A pool of instances alone; it takes away whichever comes first."""
        name, namespace = str(_part(owner, "metadata")["name"]), str(_part(owner, "metadata")["namespace"])
        wanted = cast("int", _part(owner, "spec").get("replicas", 0))
        ids = [str(each) for each in cast("list[object]", _part(owner, "spec").get("providerIDList") or [])]
        if len(ids) == wanted:
            return False
        while len(ids) < wanted:
            self.made += 1
            id = f"test:///{name}-{self.made:05d}"
            await self._node(f"node-{name}-{self.made:05d}", id)
            ids.append(id)
        for id in ids[: len(ids) - wanted]:
            await self.outfit.remove(self._hand, f"node-{id.removeprefix('test:///')}")
        change = {"spec": {"providerIDList": ids[len(ids) - wanted :] if len(ids) > wanted else ids}}
        return await self._hand.change(Target(SIZED["MachinePool"], namespace, name), change)

    async def _node(self, name: str, provider_id: str) -> None:
        status = {"conditions": [condition("Ready", "True")]}
        obj = {"metadata": {"name": name}, "spec": {"providerID": provider_id}, "status": status}
        await self.outfit.make(self._hand, obj)


def _target(machine: Json, subresource: str = "") -> Target:
    metadata = _part(machine, "metadata")
    return Target(MACHINES, str(metadata["namespace"]), str(metadata["name"]), subresource)


def _part(obj: Json, *path: str) -> Json:
    for name in path:
        obj = cast("Json", obj.get(name) or {})
    return obj


def a_clusterapi_group(kind: str, **driver: object) -> DeclaredGroup:
    """A declared group; its object's annotations say that it has at most six nodes."""
    settings = {"type": "clusterapi", "kind": kind, "namespace": NAMESPACE, "stockoutSeconds": 10, **driver}
    return DeclaredGroup(GROUP, "clusterapi", {"spec": {"maxSize": 100, "driver": settings}})


@asynccontextmanager
async def clusterapi_cluster(
    path: Path, kind: str, clock: Clock, *, pool_machines: bool = False
) -> AsyncGenerator[tuple[Cluster, FakeClusterApi]]:
    """A management cluster whose workload cluster has two nodes of the group."""
    async with api_server(path) as cluster:
        annotations = {
            f"{API}/cluster-api-autoscaler-node-group-min-size": "0",
            f"{API}/cluster-api-autoscaler-node-group-max-size": "6",
        }
        metadata = {"name": GROUP, "namespace": NAMESPACE, "annotations": annotations}
        cluster.api.put({"kind": kind, "metadata": metadata, "spec": {"clusterName": "workload", "replicas": 2}})
        workload = {"name": "workload", "namespace": NAMESPACE}
        cluster.api.put({"kind": "Cluster", "metadata": workload, "spec": {"paused": False}})
        capi = FakeClusterApi(cluster, pool_machines=pool_machines, since=lambda: clock.now().isoformat())
        cluster.controllers.append(capi)
        await cluster.settle()
        try:
            yield cluster, capi
        finally:
            await capi.close()
