"""An object as Muster keeps it: what changes without meaning is left out, so equal facts are equal bytes."""

from collections.abc import Mapping

import orjson

from muster_kube.parts import mapping, sequence, text

_METADATA = frozenset(("managedFields", "resourceVersion", "selfLink"))
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HEARTBEATS = frozenset(("lastHeartbeatTime", "lastProbeTime"))
# Lists of container images and attached volumes: most of a node's size, nothing a gang's capacity depends on.
_NODE_STATUS = frozenset(("images", "volumesInUse", "volumesAttached", "daemonEndpoints"))
_CONTAINER_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CONTAINER_STATUS = ("name", "resources", "allocatedResources")


def trimmed(obj: Mapping[str, object]) -> dict[str, object]:
    """A copy without managedFields, resourceVersion, the last-applied annotation, heartbeat times, a node's images and
    volumes, and the run-time state of containers."""
    kept = {**obj, "metadata": _metadata(mapping(obj.get("metadata")))}
    status = mapping(obj.get("status"))
    if text(obj.get("kind")) == "Node" and status:
        kept["status"] = _conditions({name: value for name, value in status.items() if name not in _NODE_STATUS})
    elif text(obj.get("kind")) == "Pod" and status:
        kept["status"] = _conditions({name: _containers(name, value) for name, value in status.items()})
    return kept


def trimmed_json(obj: Mapping[str, object]) -> bytes:
    """`trimmed(obj)` as JSON with sorted keys: the same content gives the same bytes."""
    return orjson.dumps(trimmed(obj), option=orjson.OPT_SORT_KEYS)


def _metadata(metadata: Mapping[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in metadata.items() if name not in _METADATA}
    annotations = mapping(metadata.get("annotations"))
    if _LAST_APPLIED in annotations:
        kept["annotations"] = {name: value for name, value in annotations.items() if name != _LAST_APPLIED}
    return kept


def _conditions(status: dict[str, object]) -> dict[str, object]:
    conditions = sequence(status.get("conditions"))
    if conditions:
        status["conditions"] = [
            {name: value for name, value in mapping(each).items() if name not in _HEARTBEATS} for each in conditions
        ]
    return status


def _containers(name: str, value: object) -> object:
    if name not in _CONTAINER_LISTS:
        return value
    return [{key: mapping(each)[key] for key in _CONTAINER_STATUS if key in mapping(each)} for each in sequence(value)]
