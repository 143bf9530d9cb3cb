"""`SimulatedScheduler`: creates and binds the pods of offered gangs in a cluster directory, one by one.

It keeps nothing: all it does follows from what the directory shows, under names that do not change, so a crash between
two writes is followed by the missing ones.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster_cli.simulation.bindings import extended_claim, pod_scheduled, request_mappings, share_ids
from muster_cli.simulation.choice import EXTENDED_CLAIM, Chosen, PendingPod, Unschedulable, choose_node
from muster_cli.simulation.offers import (
    Json,
    Missing,
    Offer,
    claim_names,
    claims_of,
    consumed_request,
    is_ours,
    pods_of,
    read_offer,
)
from muster_dra import ResourceClaim
from muster_kube import ClusterDirectory, Listing, Manifest
from muster_kube.parts import at, mapping, sequence, text
from muster_plan.pods import Pod
from muster_plan.snapshot import Snapshot
from muster_types import ObjectKey

log = structlog.get_logger("muster.simulated_scheduler")

_POLL = 1.0
_PODS = {"resource": "pods"}


@dataclass(frozen=True, slots=True)
class View:
    """The cluster as the directory showed it, and as the allocator reads it."""

    manifests: Mapping[ObjectKey, Manifest]
    snapshot: Snapshot

    @classmethod
    def empty(cls) -> "View":
        """Nothing seen yet."""
        return cls({}, Snapshot.build(()))

    def after(self, listing: Listing) -> "View":
        """What a later listing shows; only what changed is read again."""
        before, now = self.manifests, listing.objects
        changed = [now[key].obj for key in sorted(now) if before.get(key) is not now[key]]
        gone = sorted(before.keys() - now.keys())
        return View(now, self.snapshot.apply(changed, gone)) if changed or gone else self

    @property
    def objects(self) -> Mapping[ObjectKey, Json]:
        """The objects by key."""
        return {key: manifest.obj for key, manifest in self.manifests.items()}


class SimulatedScheduler:
    """Stands for the owners of gangs and for kube-scheduler. `load` are the dumps of the cluster, `state` is the state
    directory, whose `cluster/` is the overlay that it writes."""

    def __init__(self, load: Sequence[Path], state: Path) -> None:
        self.directory = ClusterDirectory(tuple(load), state / "cluster")
        self._view = View.empty()

    async def run(self) -> None:
        """Follow the directory until cancelled."""
        async for _ in self.directory.changes(poll_seconds=_POLL):
            while await asyncio.to_thread(self.step):
                pass

    def step(self) -> bool:
        """Create what is missing and bind what can be bound, in the order of names; whether anything was written."""
        self._view = self._view.after(self.directory.list())
        objects = self._view.objects
        offers = [
            offer
            for key in sorted(objects)
            if key.kind == "ProvisioningRequest" and (offer := read_offer(key, objects[key])) is not None
        ]
        created = [self._create(offer, objects) for offer in offers]
        removed = self._remove_unwanted(objects)
        if any(created) or removed:
            return True
        bound = [self._bind_all(offer) for offer in offers]
        return any(bound)

    def _create(self, offer: Offer, objects: Mapping[ObjectKey, Json]) -> bool:
        """Pods with their claims, unless somebody else made pods for the request; whether any was written."""
        consumers = [objects[key] for key in sorted(objects) if consumes(key, objects[key], offer)]
        if any(not is_ours(pod) for pod in consumers):
            return False
        pods = pods_of(offer, objects)
        if isinstance(pods, Missing):
            log.warning("pods cannot be created", request=str(offer.key), missing=str(pods.key))
            return False
        wrote = False
        for pod in pods:
            claims = claims_of(pod, objects)
            if isinstance(claims, Missing):
                log.warning("claims cannot be created", request=str(offer.key), missing=str(claims.key))
                return wrote
            for obj in (*claims, pod):
                wrote |= self._put_new(obj, objects)
        return wrote

    def _remove_unwanted(self, objects: Mapping[ObjectKey, Json]) -> bool:
        """Pods made here that have no node and whose request is gone or was called off, with their claims."""
        wrote = False
        for key in sorted(objects):
            pod = objects[key]
            if key.kind != "Pod" or not is_ours(pod) or at(pod, "spec", "nodeName"):
                continue
            request = ObjectKey("ProvisioningRequest", key.namespace, consumed_request(pod))
            if request in objects and read_offer(request, objects[request]) is not None:
                continue
            for name in claim_names(pod, objects).values():
                claim = ObjectKey("ResourceClaim", key.namespace, name)
                if is_ours(objects.get(claim, {})) and not sequence(at(objects[claim], "status", "reservedFor")):
                    self.directory.delete(claim)
            self.directory.delete(key)
            wrote = True
        return wrote

    def _bind_all(self, offer: Offer) -> bool:
        wrote = False
        for key in sorted(self._view.manifests):
            pod = self._view.manifests[key].obj
            if consumes(key, pod, offer) and not is_settled(pod):
                wrote |= self._bind(offer, key, pod)
        return wrote

    def _bind(self, offer: Offer, key: ObjectKey, pod: Json) -> bool:
        snapshot = self._view.snapshot
        read = snapshot.tables.pods.get(key)
        if read is None:
            return False  # it could not be read; whoever lists problems names it
        names = claim_names(pod, self._view.objects).values()
        found = tuple(claim for name in names if (claim := snapshot.claim(key.namespace, name)) is not None)
        absent = sorted(set(names) - {claim.name for claim in found})
        if absent:
            return self._tell(key, pod, Unschedulable(f"waiting for resource claim {absent[0]} to be created"))
        choice = choose_node(PendingPod(key, read.spec, found, offer.gang, offer.nodes), snapshot)
        if isinstance(choice, Unschedulable):
            return self._tell(key, pod, choice)
        self._write_binding(key, pod, read, found, choice)
        self._view = self._view.after(self.directory.list())
        log.info("pod bound", pod=str(key), node=choice.node)
        return True

    def _write_binding(
        self, key: ObjectKey, pod: Json, read: Pod, claims: Sequence[ResourceClaim], choice: Chosen
    ) -> None:
        """Claims first, as the scheduler does: a pod with a node always has its devices."""
        consumer = {**_PODS, "name": key.name, "uid": text(at(pod, "metadata", "uid"))}
        for claim in claims:
            self._reserve(ObjectKey("ResourceClaim", key.namespace, claim.name), choice, consumer)
        status = {**mapping(pod.get("status")), "phase": "Running", "conditions": [pod_scheduled("True", "", "")]}
        if choice.extended is not None:
            name = f"{key.name}-{EXTENDED_CLAIM}"
            self.directory.put(extended_claim(key, name, choice.extended, choice.allocations[name], consumer))
            status["extendedResourceClaimStatus"] = {
                "resourceClaimName": name,
                "requestMappings": request_mappings(read, choice.extended),
            }
        self.directory.put({**pod, "spec": {**mapping(pod.get("spec")), "nodeName": choice.node}, "status": status})

    def _reserve(self, key: ObjectKey, choice: Chosen, consumer: Mapping[str, str]) -> None:
        claim = self.directory.get(key)
        if claim is None:
            return
        reserved = sequence(at(claim, "status", "reservedFor"))
        status: dict[str, object] = {}
        if consumer not in reserved:
            status["reservedFor"] = [*reserved, consumer]
        allocation = choice.allocations.get(key.name)
        if allocation is not None:
            status["allocation"] = allocation.to_json(share_ids(key, allocation))
        if status:
            self.directory.patch_status(key, status)

    def _tell(self, key: ObjectKey, pod: Json, refusal: Unschedulable) -> bool:
        condition = pod_scheduled("False", "Unschedulable", refusal.message)
        if condition in sequence(at(pod, "status", "conditions")):
            return False
        self.directory.patch_status(key, {"conditions": [condition]})
        log.info("pod is unschedulable", pod=str(key), reason=refusal.message)
        return False  # it is no progress

    def _put_new(self, obj: Json, objects: Mapping[ObjectKey, Json]) -> bool:
        key = ObjectKey(
            text(obj.get("kind")), text(at(obj, "metadata", "namespace")), text(at(obj, "metadata", "name"))
        )
        if key in objects:
            return False
        self.directory.put(obj, expected_version="")
        return True


def consumes(key: ObjectKey, obj: Json, offer: Offer) -> bool:
    same = key.kind == "Pod" and key.namespace == offer.key.namespace
    return same and consumed_request(obj) == offer.key.name


def is_settled(pod: Json) -> bool:
    """Bound, finished, held back by a gate, or on its way out."""
    if at(pod, "spec", "nodeName") or sequence(at(pod, "spec", "schedulingGates")):
        return True
    return text(at(pod, "status", "phase")) in ("Succeeded", "Failed") or bool(at(pod, "metadata", "deletionTimestamp"))
