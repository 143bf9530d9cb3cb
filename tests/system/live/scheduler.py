"""A small scheduler for a live cluster, and the owner of its pods: pods of offered gangs come, get devices, are bound.

Everything goes through the API server as with the real ones: claims are allocated in their status before the pod is
bound through its `binding`, one pod at a time, first fit.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import orjson

from muster_cli.simulation.bindings import pod_scheduled
from muster_cli.simulation.choice import Chosen, PendingPod, choose_node
from muster_cli.simulation.offers import Missing, Offer, claim_names, claims_of, consumed_request, pods_of, read_offer
from muster_kube.parts import at, sequence
from muster_kubeapi import Json, KubeClient, KubeError, Resource, Target, create, list_pages, patch
from muster_plan.snapshot import Snapshot
from muster_types import NodeName, ObjectKey

_DRA = "resource.k8s.io"
KINDS = (
    Resource("", "v1", "nodes", "Node", namespaced=False),
    Resource("", "v1", "pods", "Pod", namespaced=True),
    Resource("", "v1", "podtemplates", "PodTemplate", namespaced=True),
    Resource(_DRA, "v1", "resourceslices", "ResourceSlice", namespaced=False),
    Resource(_DRA, "v1", "resourceclaims", "ResourceClaim", namespaced=True),
    Resource(_DRA, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", namespaced=True),
    Resource(_DRA, "v1", "deviceclasses", "DeviceClass", namespaced=False),
    Resource(_DRA, "v1beta2", "devicetaintrules", "DeviceTaintRule", namespaced=False),
    Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", namespaced=True),
    Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", namespaced=True),
)
_BY_KIND = {each.kind: each for each in KINDS}
_PAUSE = 0.1
Objects = Mapping[ObjectKey, Json]


async def seen(client: KubeClient) -> Objects:
    """All objects of the kinds that count here, each with its kind. Raises KubeError."""
    found: dict[ObjectKey, Json] = {}
    for kind in KINDS:
        async for page in list_pages(client, kind):
            for obj in page.items:
                key = ObjectKey(
                    kind.kind, str(at(obj, "metadata", "namespace") or ""), str(at(obj, "metadata", "name"))
                )
                found[key] = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
    return found


@asynccontextmanager
async def scheduling(client: KubeClient) -> AsyncGenerator[None]:
    """Create and bind for the time of the block."""

    async def go_on() -> None:
        while True:
            try:
                if await _step(client):
                    continue
            except KubeError:
                pass  # the server is away: once more
            await asyncio.sleep(_PAUSE)

    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended


async def _step(client: KubeClient) -> bool:
    """One pod bound, or the pods of an offer created; whether anything was done."""
    objects = await seen(client)
    requests = [key for key in sorted(objects) if key.kind == "ProvisioningRequest"]
    offers = [offer for key in requests if (offer := read_offer(key, objects[key])) is not None]
    for offer in offers:
        if await _create(client, offer, objects):
            return True
    return await _bind(client, {offer.key.name: offer for offer in offers}, objects)


async def _create(client: KubeClient, offer: Offer, objects: Objects) -> bool:
    pods = pods_of(offer, objects)
    assert not isinstance(pods, Missing), pods
    done = False
    for pod in pods:
        claims = claims_of(pod, objects)
        assert not isinstance(claims, Missing), claims
        for obj in (*claims, pod):
            kind, namespace, name = str(obj["kind"]), offer.key.namespace, str(at(obj, "metadata", "name"))
            if ObjectKey(kind, namespace, name) not in objects:
                await create(client, _BY_KIND[kind], namespace, obj)
                done = True
    return done


async def _bind(client: KubeClient, offers: Mapping[str, Offer], objects: Objects) -> bool:
    """The first pod that finds a node, among those that nothing holds back."""
    snapshot = Snapshot.build(objects.values())
    for key in sorted(key for key in objects if key.kind == "Pod" and key.namespace == "ml"):
        pod = objects[key]
        gated = sequence(at(pod, "spec", "schedulingGates"))
        if gated or at(pod, "spec", "nodeName") or at(pod, "metadata", "deletionTimestamp"):
            continue
        names = claim_names(pod, objects)
        claims = tuple(claim for name in names.values() if (claim := snapshot.claim(key.namespace, name)) is not None)
        offer = offers.get(consumed_request(pod))
        gang, nodes = ("", frozenset[NodeName]()) if offer is None else (offer.gang, offer.nodes)
        choice = choose_node(PendingPod(key, snapshot.tables.pods[key].spec, claims, gang, nodes), snapshot)
        if isinstance(choice, Chosen) and len(claims) == len(names):
            await _write(client, key, pod, names, choice)
            return True
    return False


async def _write(client: KubeClient, key: ObjectKey, pod: Json, names: Mapping[str, str], choice: Chosen) -> None:
    target = Target(_BY_KIND["Pod"], key.namespace, key.name, "status")
    made = [{"name": entry, "resourceClaimName": name} for entry, name in names.items()]
    await patch(client, target, {"status": {"resourceClaimStatuses": made}})  # as the controller of claims does
    consumer = {"resource": "pods", "name": key.name, "uid": at(pod, "metadata", "uid")}
    for name, allocation in choice.allocations.items():
        status = {"allocation": allocation.to_json([]), "reservedFor": [consumer]}
        await patch(client, Target(_BY_KIND["ResourceClaim"], key.namespace, name, "status"), {"status": status})
    binding = {"metadata": {"name": key.name}, "target": {"kind": "Node", "name": choice.node}}
    path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/binding"
    await _post(client, path, {"apiVersion": "v1", "kind": "Binding", **binding})
    conditions = [*sequence(at(pod, "status", "conditions")), pod_scheduled("True", "", "")]
    running = {"status": {"phase": "Running", "conditions": conditions}}
    await patch(client, target, running)


async def _post(client: KubeClient, path: str, obj: Json) -> None:
    await client.call("POST", path, body=orjson.dumps(obj))
