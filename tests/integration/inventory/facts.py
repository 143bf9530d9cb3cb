"""Facts of the stream `observed`, as a watcher would publish them, and the Kubernetes objects in them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import orjson
from google.protobuf.message import Message

from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.object_pb2 import ObjectRef
from muster_eventstore import Cause, EventStore, caused, derived_id, event_subject

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLUSTER = "local"
GPU = "gpu.example.com"
Json = dict[str, object]


class Watcher:
    """Publishes facts; every call is a new fact, whatever it says."""

    def __init__(self, store: EventStore, cluster: str = CLUSTER) -> None:
        self._store = store
        self._cluster = cluster
        self._count = 0

    async def see(self, *objects: Json) -> int:
        """These objects as they are now; the sequence of the last fact."""
        last = 0
        for obj in objects:
            ref = _ref(obj)
            last = await self._publish(
                event_subject("observed", self._cluster, ref.kind, ref.namespace, ref.name),
                pb.ObjectObserved(object=ref, json=orjson.dumps(obj)),
            )
        return last

    async def see_text(self, kind: str, name: str, json: bytes) -> int:
        """An object whose JSON is whatever it is."""
        ref = ObjectRef(kind=kind, name=name)
        subject = event_subject("observed", self._cluster, kind, "", name)
        return await self._publish(subject, pb.ObjectObserved(object=ref, json=json))

    async def lose(self, obj: Json) -> int:
        """This object is gone."""
        ref = _ref(obj)
        subject = event_subject("observed", self._cluster, ref.kind, ref.namespace, ref.name)
        return await self._publish(subject, pb.ObjectRemoved(object=ref))

    async def reject(
        self, source: str, object: str, field: str, reason: str, severity: pb.Severity.ValueType = pb.SEVERITY_ERROR
    ) -> int:
        """An input that could not be read, or a warning about one that was."""
        subject = event_subject("observed", self._cluster, "problem", source, f"{object} {field}")
        message = pb.InputRejected(source=source, object=object, field=field, reason=reason, severity=severity)
        return await self._publish(subject, message)

    async def complete(self) -> int:
        """The list is whole."""
        subject = event_subject("observed", self._cluster, "sync", "dump")
        return await self._publish(subject, pb.SyncCompleted(source="dump"))

    async def _publish(self, subject: str, message: Message) -> int:
        self._count += 1
        cause = Cause.first(derived_id("test", self._cluster, self._count))
        meta = caused(
            cause,
            derived_id(cause.id, subject),
            type=message.DESCRIPTOR.full_name,
            source="/muster/cluster-watcher",
            subject=subject,
            time=NOON,
        )
        return (await self._store.publish(subject, message.SerializeToString(deterministic=True), meta)).sequence


def a_node(
    name: str, *, labels: Mapping[str, str] | None = None, ready: bool = True, message: str = "", cordoned: bool = False
) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "message": message}],
        },
    }


def an_ordered_node(
    name: str, group: str, *, order: str = "llm-4f2a1c-a1-0", ordinal: str = "0", ready: bool = True
) -> Json:
    labels = {
        "muster.dev/gang": "llm-4f2a1c",
        "muster.dev/order": order,
        "muster.dev/node-group": group,
        "muster.dev/ordinal": ordinal,
        "muster.dev/pool": group,
    }
    return a_node(name, labels=labels, ready=ready)


def some_devices(count: int = 8) -> list[Json]:
    return [
        {
            "name": f"gpu-{index}",
            "attributes": {"model": {"string": "h100"}, "numa": {"int": index // 4}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(count)
    ]


def a_slice(
    node: str,
    *,
    devices: Sequence[Json] | None = None,
    generation: int = 1,
    count: int = 1,
    index: int = 0,
    driver: str = GPU,
) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}-{index}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": count},
            "devices": list(some_devices() if devices is None else devices),
        },
    }


def a_group(name: str, *, size: int = 2, labels: Mapping[str, str] | None = None, devices: int = 8) -> Json:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "minSize": 0,
            "maxSize": 16,
            "currentSize": size,
            "pricePerNode": 98.32,
            "driver": {"type": "simulated"},
            "template": {
                "metadata": {"labels": dict(labels or {"muster.dev/pool": name})},
                "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
                "resourceSlices": [
                    {
                        "driver": GPU,
                        "pool": {"name": "gpus", "generation": 1, "resourceSliceCount": 1},
                        "devices": some_devices(devices),
                    }
                ],
            },
        },
    }


def a_claim(name: str, *devices: str, pool: str, namespace: str = "team") -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {
                    "results": [{"request": "gpu", "driver": GPU, "pool": pool, "device": name} for name in devices]
                }
            }
        },
    }


def _ref(obj: Json) -> ObjectRef:
    meta = obj["metadata"]
    assert isinstance(meta, dict)
    return ObjectRef(kind=str(obj["kind"]), namespace=str(meta.get("namespace", "")), name=str(meta["name"]))
