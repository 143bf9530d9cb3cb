"""The changes of a resource after a version, as the server tells them line by line."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import orjson

from muster_kubeapi.client import KubeClient
from muster_kubeapi.errors import Status, Unreachable
from muster_kubeapi.parsing import collector_paused
from muster_kubeapi.resources import Json, Resource


@dataclass(frozen=True, slots=True)
class Change:
    """An object in its new form, or in its last one when it is `gone`."""

    obj: Json
    gone: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What arrived together, in order. `version` covers all of it; with no changes it is a bookmark."""

    changes: tuple[Change, ...]
    version: str


async def watch_changes(
    client: KubeClient, resource: Resource, since: str, *, seconds: int, label_selector: str = ""
) -> AsyncGenerator[Changes]:
    """Until the server ends the watch, after `seconds` at the latest. Raises Expired when `since` is too old,
    Unreachable when the connection breaks; whatever line was not complete then is not told."""
    params = {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": since,
        "timeoutSeconds": str(seconds),
    }
    if label_selector:
        params["labelSelector"] = label_selector
    rest = b""
    async with aclosing(client.stream(resource.path, params)) as pieces:
        async for piece in pieces:
            whole, rest = split_lines(rest, piece)
            told = read_lines(resource, whole) if whole else None
            if told is not None:
                yield told


def split_lines(rest: bytes, piece: bytes) -> tuple[bytes, bytes]:
    """What is complete of `rest` and the piece after it, and the beginning of the next line."""
    end = piece.rfind(b"\n") + 1
    return (rest + piece[:end], piece[end:]) if end else (b"", rest + piece)


def read_lines(resource: Resource, lines: bytes) -> Changes | None:
    """The changes that complete lines tell; None for lines that tell nothing. Raises what an ERROR says, and
    Unreachable for a line that is no event."""
    changes: list[Change] = []
    version = ""
    with collector_paused():
        events = list(_events(resource, lines))
    for kind, obj in events:
        if kind == "ERROR":
            raise Status.of(obj).error(f"watch of {resource}")
        metadata = obj.get("metadata")
        meta = cast("Json", metadata) if isinstance(metadata, dict) else {}
        version = str(meta.get("resourceVersion") or version)
        if kind in ("ADDED", "MODIFIED", "DELETED"):
            changes.append(Change(obj, gone=kind == "DELETED"))
    return Changes(tuple(changes), version) if version else None


def _events(resource: Resource, lines: bytes) -> Iterator[tuple[str, Json]]:
    for line in lines.split(b"\n"):
        if not line.strip():
            continue
        try:
            parsed: object = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise Unreachable(f"watch of {resource}: a line is no JSON: {error}") from error
        event = cast("Json", parsed) if isinstance(parsed, dict) else {}
        obj = event.get("object")
        if not isinstance(obj, dict):
            raise Unreachable(f"watch of {resource}: a line without object")
        yield str(event.get("type")), cast("Json", obj)
