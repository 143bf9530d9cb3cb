"""Single objects: read, create, change, delete. What another writer did meanwhile is an answer, not an exception."""

from dataclasses import dataclass
from enum import Enum
from typing import cast

import orjson

from muster_kubeapi.client import KubeClient
from muster_kubeapi.errors import Refused, Unreachable
from muster_kubeapi.resources import Json, Resource, Target, collection_path


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer was faster, or owns a field, or the name is taken: read again and decide anew."""

    message: str


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such object."""


class PatchForm(Enum):
    """How a change is written (RFC 7386, RFC 6902)."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


async def get(client: KubeClient, target: Target) -> Json | None:
    """The object as it is now; None when it is not there. Raises Unreachable, Refused, AccessInvalid."""
    try:
        return _object(target.path, await client.call("GET", target.path))
    except Refused as error:
        if error.status == 404:
            return None
        raise


async def create(client: KubeClient, resource: Resource, namespace: str, obj: Json) -> Json | Conflict:
    """The object as stored; Conflict when the name is taken."""
    path = collection_path(resource, namespace)
    body = orjson.dumps({**obj, "apiVersion": resource.api_version, "kind": resource.kind})
    answer = await _write(client, "POST", path, {}, body, "application/json")
    if isinstance(answer, Missing):
        raise Refused(404, "NotFound", f"POST {path}: the namespace or the resource does not exist")
    return answer


async def replace(client: KubeClient, target: Target, obj: Json) -> Json | Conflict | Missing:
    """Write the whole object; with `metadata.resourceVersion` only over that version."""
    return await _write(client, "PUT", target.path, {}, orjson.dumps(obj), "application/json")


async def patch(
    client: KubeClient, target: Target, change: Json | list[Json], form: PatchForm = PatchForm.MERGE
) -> Json | Conflict | Missing:
    """Change an object. A merge patch with `metadata.resourceVersion` changes only that version, a JSON patch with
    `test` operations only what they describe."""
    return await _write(client, "PATCH", target.path, {}, orjson.dumps(change), form.value)


async def apply(
    client: KubeClient, target: Target, obj: Json, *, manager: str, force: bool
) -> Json | Conflict | Missing:
    """Server-side apply: `manager` owns exactly the fields that `obj` has; created when it is not there. Conflict when
    another manager owns one of them with another value, unless `force`."""
    metadata = obj.get("metadata")
    named = {"name": target.name, **({"namespace": target.namespace} if target.namespace else {})}
    stated = {
        **obj,
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "metadata": {**(cast("Json", metadata) if isinstance(metadata, dict) else {}), **named},
    }
    params = {"fieldManager": manager, "force": "true" if force else "false"}
    return await _write(client, "PATCH", target.path, params, orjson.dumps(stated), "application/apply-patch+yaml")


async def delete(client: KubeClient, target: Target, *, uid: str = "") -> bool:
    """Whether it was there; with `uid` another object of the same name stays. With finalizers it goes later."""
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if uid:
        options["preconditions"] = {"uid": uid}
    answer = await _write(client, "DELETE", target.path, {}, orjson.dumps(options), "application/json")
    return not isinstance(answer, Missing | Conflict)


async def _write(
    client: KubeClient, method: str, path: str, params: dict[str, str], body: bytes, content_type: str
) -> Json | Conflict | Missing:
    try:
        return _object(path, await client.call(method, path, params, body, content_type))
    except Refused as error:
        if error.status == 404:
            return Missing()
        if error.status == 409:
            return Conflict(str(error))
        raise


def _object(path: str, body: bytes) -> Json:
    try:
        parsed: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"{path}: the answer is no JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise Unreachable(f"{path}: the answer is no object")
    return cast("Json", parsed)
