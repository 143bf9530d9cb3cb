"""What of a declared NodeGroup matters to trust in it."""

import orjson

from muster_gang_coordinator.wire.manifests import Unreadable, read_json
from muster_kube.parts import at


def from_group(json: bytes) -> tuple[bytes, int]:
    """`spec.template` as canonical JSON, and `spec.atomicUnit` (1 without a sound one)."""
    group = read_json(json)
    if isinstance(group, Unreadable):
        return b"null", 1
    unit = at(group, "spec", "atomicUnit")
    sound = isinstance(unit, int) and not isinstance(unit, bool) and unit > 0
    template = orjson.dumps(at(group, "spec", "template"), option=orjson.OPT_SORT_KEYS)
    return template, unit if isinstance(unit, int) and sound else 1
