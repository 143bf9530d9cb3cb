"""Marking nodes: labels that name gang, order, group and ordinal, and the reservation."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

from muster_eventstore import TransientError
from muster_kube import ClusterDirectory, VersionConflict
from muster_kubeapi import Conflict, KubeClient, KubeError, Target, get, patch
from muster_provisioner.adapters.cluster_nodes import NODES
from muster_provisioner.adapters.simulated.nodes import GANG, NODE_GROUP, ORDER, ORDINAL
from muster_provisioner.ports import NodeMark
from muster_types import NodeName, ObjectKey

Json = Mapping[str, object]
# Names the order that a node was marked for. Unlike the labels it stays when the reservation is lifted.
MARKED = "muster.dev/marked-for"
_ATTEMPTS = 10


class DirectoryMarker:
    """`NodeMarker` of a cluster directory."""

    def __init__(self, directory: ClusterDirectory) -> None:
        self._directory = directory

    async def mark(self, node: NodeName, mark: NodeMark) -> None:
        """Label and taint a node unless it was marked before."""
        await asyncio.to_thread(self._mark, node, mark)

    def _mark(self, node: NodeName, mark: NodeMark) -> None:
        while True:
            held = self._directory.get(ObjectKey("Node", "", node))
            change = None if held is None else marked(held, mark)
            if held is None or change is None:
                return
            metadata, spec = {**_at(held, "metadata"), **_at(change, "metadata")}, {**_at(held, "spec")}
            new = {**held, "metadata": metadata, "spec": {**spec, **_at(change, "spec")}}
            version = str(_at(held, "metadata").get("resourceVersion") or "") or None
            if not isinstance(self._directory.put(new, expected_version=version), VersionConflict):
                return


class ApiMarker:
    """`NodeMarker` of an API server."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def mark(self, node: NodeName, mark: NodeMark) -> None:
        """Label and taint a node unless it was marked before."""
        target = Target(NODES, "", node)
        try:
            for _ in range(_ATTEMPTS):
                held = await get(self._client, target)
                change = None if held is None else marked(held, mark)
                if held is None or change is None:
                    return
                version = _at(held, "metadata").get("resourceVersion")
                metadata = {**_at(change, "metadata"), "resourceVersion": version}
                if not isinstance(await patch(self._client, target, {**change, "metadata": metadata}), Conflict):
                    return
        except KubeError as error:
            raise TransientError(f"node {node}: {error}") from error
        raise TransientError(f"node {node}: other writers were faster {_ATTEMPTS} times")


def marked(node: Json, mark: NodeMark) -> Json | None:
    """The changed parts of a node, whole; None when it was marked before."""
    labels, annotations = _at(_at(node, "metadata"), "labels"), _at(_at(node, "metadata"), "annotations")
    if MARKED in annotations:
        return None
    taints = cast("Sequence[Json]", _at(node, "spec").get("taints") or ())
    reservation = {"key": GANG, "value": mark.gang, "effect": "NoSchedule"}
    return {
        "metadata": {
            "labels": {
                **labels,
                GANG: mark.gang,
                ORDER: mark.order,
                NODE_GROUP: mark.group,
                ORDINAL: str(mark.ordinal),
            },
            "annotations": {**annotations, MARKED: mark.order},
        },
        "spec": {"taints": [*taints, reservation]},
    }


def _at(obj: Json, field: str) -> Json:
    value = obj.get(field)
    return cast("Json", value) if isinstance(value, Mapping) else {}
