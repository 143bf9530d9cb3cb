"""A node that its kubelet reports on, while others label, annotate and taint it."""

from collections.abc import Mapping, Sequence
from typing import cast

Json = Mapping[str, object]
_NOT_READY = "node.kubernetes.io/not-ready"


def merged_node(held: Json, reported: Json) -> dict[str, object]:
    """The Node as it stands, with the reported status; of its taints only the mark of not being ready follows the
    report. Everything else was the kubelet's to say once, when it registered."""
    spec = _at(held, "spec")
    return {**held, "spec": {**spec, "taints": kept_taints(held, reported)}, "status": reported.get("status", {})}


def kept_taints(held: Json, reported: Json) -> list[object]:
    """The taints that a node keeps when its kubelet reports."""
    not_ready = [taint for taint in _taints(reported) if taint.get("key") == _NOT_READY]
    return [*(taint for taint in _taints(held) if taint.get("key") != _NOT_READY), *not_ready]


def _taints(node: Json) -> Sequence[Json]:
    return cast("Sequence[Json]", _at(node, "spec").get("taints") or ())


def _at(obj: Json, field: str) -> Json:
    value = obj.get(field)
    return cast("Json", value) if isinstance(value, Mapping) else {}
