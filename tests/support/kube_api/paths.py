"""URL paths of an API server, and the verbs that its authorizer sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from support.kube_api.answers import StatusError
from support.kube_api.kinds import ResourceType


@dataclass(frozen=True, slots=True)
class Route:
    """What a path names: a collection (no name), an object, or a subresource of it."""

    type: ResourceType
    version: str
    namespace: str
    name: str
    subresource: str

    @property
    def api_version(self) -> str:
        """Of the objects in the answer."""
        return self.type.api_version(self.version)

    @property
    def place(self) -> tuple[str, str]:
        """Namespace and name."""
        return (self.namespace, self.name)


def parse(path: str, types: Sequence[ResourceType]) -> Route:
    """`/api/v1/...` or `/apis/<group>/<version>/...`. Raises StatusError 404."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    unknown = StatusError(404, "NotFound", "the server could not find the requested resource")
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise unknown
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    for each in types:
        if (each.group, each.plural) == (group, plural) and version in each.versions and len(rest) <= 3:
            if (namespace and not each.namespaced) or (subresource and subresource not in each.subresources):
                raise unknown
            if name and each.namespaced and not namespace:
                raise unknown
            return Route(each, version, namespace, name, subresource)
    raise unknown


def verb_of(method: str, route: Route, query: Mapping[str, str]) -> str:
    """The RBAC verb of a call."""
    if method == "GET":
        if route.name:
            return "get"
        return "watch" if query.get("watch") in ("1", "true") else "list"
    named = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    return "deletecollection" if method == "DELETE" and not route.name else named[method]
