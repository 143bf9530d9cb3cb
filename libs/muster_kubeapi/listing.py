"""Whole lists, page by page, so that a large one is never in memory at once."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import cast

import orjson

from muster_kubeapi.client import KubeClient
from muster_kubeapi.errors import Expired, Unreachable
from muster_kubeapi.parsing import parse_json
from muster_kubeapi.resources import Json, Resource

_PAGE_BYTES = 4 * 2**20  # larger pages make the next one smaller: parsed JSON takes several times its bytes
_SMALLEST = 10
_RESTARTS = 2


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list. `first`: what came before it counts no more. `version` is the list's, "" while more follows."""

    items: list[Json]
    first: bool
    version: str


async def list_pages(
    client: KubeClient, resource: Resource, *, limit: int = 500, label_selector: str = ""
) -> AsyncGenerator[Page]:
    """A consistent list of a resource in all namespaces; items are as they stand in the list, often without
    `apiVersion` and `kind`.

    A continue token that expires under way begins the list again, at last without pages, for one answer can't expire.
    """
    for attempt in range(_RESTARTS + 1):
        paged = limit if attempt < _RESTARTS else 0
        try:
            async for page in _pages(client, resource, paged, label_selector):
                yield page
            return
        except Expired:
            if not paged:
                raise


async def _pages(client: KubeClient, resource: Resource, limit: int, label_selector: str) -> AsyncGenerator[Page]:
    token, first, size = "", True, limit
    while True:
        params = {"limit": str(size)} if limit else {}
        if token:
            params["continue"] = token
        if label_selector:
            params["labelSelector"] = label_selector
        body = await client.call("GET", resource.path, params)
        if limit:
            size = min(limit, max(_SMALLEST, size * _PAGE_BYTES // max(len(body), 1)))
        items, token, version = _read(resource, body)
        yield Page(items, first, "" if token else version)
        if not token:
            return
        first = False


def _read(resource: Resource, body: bytes) -> tuple[list[Json], str, str]:
    try:
        parsed = parse_json(body)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"GET {resource.path}: the answer is no JSON: {error}") from error
    listed = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    metadata, items = listed.get("metadata"), listed.get("items")
    if not isinstance(metadata, dict):
        raise Unreachable(f"GET {resource.path}: the answer is no list")
    meta = cast("dict[str, object]", metadata)
    found = [cast("Json", item) for item in cast("list[object]", items or []) if isinstance(item, dict)]
    return found, str(meta.get("continue") or ""), str(meta.get("resourceVersion") or "")
