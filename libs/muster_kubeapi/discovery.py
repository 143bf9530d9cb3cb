"""Which of the wanted kinds a server has, and in which version."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import orjson
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from muster_kubeapi.client import KubeClient
from muster_kubeapi.errors import Refused, Unreachable
from muster_kubeapi.resources import Json, Resource


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kind with the versions that are understood, best first."""

    kind: str
    group: str
    versions: tuple[str, ...]
    plural: str


@dataclass(frozen=True, slots=True)
class Served:
    """A kind in the best version that the server has of it; `subresources` such as `status`."""

    resource: Resource
    subresources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A kind that the server does not have in a version that is understood; `offered` are its versions of the group."""

    wanted: Wanted
    offered: tuple[str, ...]

    @property
    def reason(self) -> str:
        """For a log or a person."""
        name = f"{self.wanted.plural}.{self.wanted.group}".removesuffix(".")
        read = ", ".join(self.wanted.versions)
        if self.offered:
            return f"{name} is read in {read}, and the server has {', '.join(self.offered)} of its group"
        return f"the server has no {name}"


@dataclass(frozen=True, slots=True)
class Unsure:
    """Whether the server has the kind can't be told now: a group of an aggregated API server that is away."""

    wanted: Wanted
    reason: str


Found = Served | Lacking | Unsure


async def discover(client: KubeClient, wanted: Iterable[Wanted]) -> Mapping[str, Found]:
    """By kind. Raises Unreachable, Refused, AccessInvalid when the server does not tell its groups."""
    kinds = sorted(wanted, key=lambda each: (each.group, each.kind))
    groups = await _groups(client)
    lists: dict[str, Mapping[str, Json] | str] = {}
    found: dict[str, Found] = {}
    for each in kinds:
        offered = groups.get(each.group, ())
        answer: Found = Lacking(each, offered)
        for version in each.versions:
            if version not in offered:
                continue
            root = _root(each.group, version)
            if root not in lists:
                lists[root] = await _resources(client, root)
            listed = lists[root]
            if isinstance(listed, str):
                answer = Unsure(each, listed)
                break
            served = _served(each, version, listed)
            if served is not None:
                answer = served
                break
        found[each.kind] = answer
    return found


async def _groups(client: KubeClient) -> Mapping[str, tuple[str, ...]]:
    core = await _json(client, "/api")
    versions: dict[str, tuple[str, ...]] = {"": tuple(str(v) for v in _list(core.get("versions")))}
    for group in _list((await _json(client, "/apis")).get("groups")):
        if isinstance(group, dict):
            each = cast("Json", group)
            served = [cast("Json", v).get("version") for v in _list(each.get("versions")) if isinstance(v, dict)]
            versions[str(each.get("name"))] = tuple(str(v) for v in served)
    return versions


async def _resources(client: KubeClient, root: str) -> Mapping[str, Json] | str:
    """The resources of a version by name, or why they can't be told."""
    try:
        listed = _list((await _json(client, root)).get("resources"))
    except Unreachable as error:
        return str(error)
    except Refused as error:
        if error.status == 404:
            return {}
        return str(error)
    return {str(cast("Json", r).get("name")): cast("Json", r) for r in listed if isinstance(r, dict)}


def _served(wanted: Wanted, version: str, listed: Mapping[str, Json]) -> Served | None:
    own = listed.get(wanted.plural)
    if own is None or not {"list", "watch"} <= {str(verb) for verb in _list(own.get("verbs"))}:
        return None
    below = f"{wanted.plural}/"
    subresources = frozenset(name.removeprefix(below) for name in listed if name.startswith(below))
    resource = Resource(wanted.group, version, wanted.plural, wanted.kind, own.get("namespaced") is True)
    return Served(resource, subresources)


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


@retry(retry=retry_if_exception_type(Unreachable), stop=stop_after_attempt(2), reraise=True)
async def _json(client: KubeClient, path: str) -> Json:
    """Asked twice: a connection that breaks under one of many answers need not cost all of them."""
    body = await client.call("GET", path)
    try:
        parsed: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"GET {path}: the answer is no JSON: {error}") from error
    return cast("Json", parsed) if isinstance(parsed, dict) else {}


def _list(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
