"""What a story left in the simulated cluster: the request's conditions, the bound pods and their devices."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from muster_cli.live.devices import devices_line
from muster_kube import ClusterDirectory
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ObjectKey

_CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
_SETTLE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_FINAL = frozenset({"Failed", "BookingExpired", "CapacityRevoked"})

Json = Mapping[str, object]


class Outcome:
    """The cluster as the requester sees it."""

    def __init__(self, state: Path) -> None:
        self._cluster = ClusterDirectory((), state / "cluster")

    def conditions(self, namespace: str, name: str) -> list[str]:
        """The conditions of a request once a final one is written (or as they are after some seconds)."""
        key = ObjectKey("ProvisioningRequest", namespace, name)
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            found = [mapping(each) for each in sequence(at(self._cluster.get(key), "status", "conditions"))]
            final = any(text(each.get("type")) in _FINAL and each.get("status") == "True" for each in found)
            if final or time.monotonic() > deadline:
                return [f"{text(c.get('type'))}={text(c.get('status'))} ({text(c.get('reason'))})" for c in found]
            time.sleep(_LOOK_SECONDS)

    def bound_pods(self, namespace: str, request: str) -> Sequence[tuple[str, str, str]]:
        """Name, node and devices of every bound pod that consumes a request."""
        objects = self._cluster.list().objects
        rows: list[tuple[str, str, str]] = []
        for key in sorted(objects):
            pod = objects[key].obj
            consumes = mapping(at(pod, "metadata", "annotations")).get(_CONSUME)
            if key.kind == "Pod" and key.namespace == namespace and consumes == request:
                names = [text(mapping(each).get("resourceClaimName")) for each in _claim_statuses(pod)]
                claims = [objects.get(ObjectKey("ResourceClaim", namespace, name)) for name in names]
                devices = _devices([claim.obj for claim in claims if claim is not None])
                rows.append((key.name, text(at(pod, "spec", "nodeName")), devices))
        return rows


def _claim_statuses(pod: Json) -> Sequence[object]:
    return sequence(at(pod, "status", "resourceClaimStatuses"))


def _devices(claims: Sequence[Json]) -> str:
    by_driver: dict[str, list[str]] = {}
    for claim in claims:
        for result in sequence(at(claim, "status", "allocation", "devices", "results")):
            chosen = mapping(result)
            by_driver.setdefault(text(chosen.get("driver")), []).append(text(chosen.get("device")))
    return devices_line(by_driver)
