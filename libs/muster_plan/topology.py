"""Topology wishes of a pod set: Kueue's annotations (group-capacity §2.6)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

PREFIX = "kueue.x-k8s.io/"
REQUIRED = PREFIX + "podset-required-topology"
PREFERRED = PREFIX + "podset-preferred-topology"
UNCONSTRAINED = PREFIX + "podset-unconstrained-topology"
GROUP = PREFIX + "podset-group-name"
SLICE_KEY = PREFIX + "podset-slice-required-topology"
SLICE_SIZE = PREFIX + "podset-slice-size"
SLICE_LAYERS = PREFIX + "podset-slice-required-topology-constraints"


@dataclass(frozen=True, slots=True)
class SliceLayer:
    """In each domain of `key` the number of pods of the set is a multiple of `size`."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Topology:
    """`required`: the whole set in one domain of that label. `group`: sets of the same group share the domain."""

    required: str = ""
    preferred: str = ""
    group: str = ""
    layers: tuple[SliceLayer, ...] = ()


def read_topology(annotations: Mapping[str, str]) -> Topology | str:
    """The wishes, or a sentence about what is wrong with them."""
    required, preferred = annotations.get(REQUIRED, ""), annotations.get(PREFERRED, "")
    unconstrained = annotations.get(UNCONSTRAINED, "") == "true"
    if sum(map(bool, (required, preferred, unconstrained))) > 1:
        return f"annotations {REQUIRED}, {PREFERRED} and {UNCONSTRAINED} exclude each other"
    group = annotations.get(GROUP, "")
    if group and not (required or preferred):
        return f"annotation {GROUP} needs {REQUIRED} or {PREFERRED} beside it"
    layers = _read_layers(annotations)
    if isinstance(layers, str):
        return layers
    if group and layers:
        return f"annotation {GROUP} excludes slices"
    return Topology(required, preferred, group, layers)


def _read_layers(annotations: Mapping[str, str]) -> tuple[SliceLayer, ...] | str:
    key, size, many = annotations.get(SLICE_KEY), annotations.get(SLICE_SIZE), annotations.get(SLICE_LAYERS)
    if many is not None:
        if key is not None or size is not None:
            return f"annotation {SLICE_LAYERS} excludes {SLICE_KEY} and {SLICE_SIZE}"
        return _read_many(many)
    if key is None and size is None:
        return ()
    if not key or size is None:
        return f"annotations {SLICE_KEY} and {SLICE_SIZE} need each other"
    count = _positive(size)
    if count is None:
        return f"annotation {SLICE_SIZE}: want an integer of at least 1, got {size!r}"
    return (SliceLayer(key, count),)


def _read_many(text: str) -> tuple[SliceLayer, ...] | str:
    complaint = f"annotation {SLICE_LAYERS}: want a JSON list of at most three objects with level and size"
    try:
        written = cast("object", json.loads(text))
    except ValueError:
        return complaint
    if not isinstance(written, list) or not 1 <= len(cast("list[object]", written)) <= 3:
        return complaint
    layers: list[SliceLayer] = []
    for each in cast("list[object]", written):
        if not isinstance(each, dict):
            return complaint
        layer = cast("dict[str, object]", each)
        level, size = layer.get("level"), layer.get("size")
        if not isinstance(level, str) or not level or isinstance(size, bool) or not isinstance(size, int) or size < 1:
            return complaint
        layers.append(SliceLayer(level, size))
    return tuple(layers)


def _positive(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
