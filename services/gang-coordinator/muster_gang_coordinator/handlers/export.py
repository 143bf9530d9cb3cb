"""All gangs of a cluster as canonical JSON: equal states give equal bytes; no sequences, no times of reading."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum

import orjson

from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.handlers.projections import GangEntry
from muster_types import ClusterId

_LEFT_OUT = frozenset({"request_json", "objects_json"})  # covered by content_hash


def export_state(cluster: ClusterId, entries: Iterable[GangEntry]) -> bytes:
    """Gangs by id, each with its state's name, everything the state holds, and the status of its request."""
    gangs = {
        entry.gang_id: {
            "state": type(entry.gang).__name__,
            "gang": _plain(entry.gang),
            "status": _plain(entry.status),
        }
        for entry in entries
    }
    return orjson.dumps({"cluster": cluster, "gangs": gangs}, option=orjson.OPT_SORT_KEYS)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Enum():
            return value.name
        case frozenset():
            return sorted(str(item) for item in value)
        case tuple():
            return [_plain(item) for item in value]
        case _ if is_dataclass(value):
            left_out = _LEFT_OUT if isinstance(value, GangSpec) else frozenset[str]()
            return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name not in left_out}
        case _:
            raise TypeError(f"{type(value).__name__} has no canonical form")
