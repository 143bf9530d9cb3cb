"""Kinds as an API server serves them, and the paths under which it does."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one served version; `group` is "" for core."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Of the list over all namespaces: `/apis/<group>/<version>/<plural>`."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.plural}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.version}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Target:
    """An object, or a subresource of it such as `status` or `scale`; `namespace` is "" for what is cluster-scoped."""

    resource: Resource
    namespace: str
    name: str
    subresource: str = ""

    @property
    def path(self) -> str:
        """Where it is read and written."""
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{collection_path(self.resource, self.namespace)}/{quote(self.name, safe='')}{below}"


def collection_path(resource: Resource, namespace: str) -> str:
    """Where objects of a namespace are created and listed."""
    if not resource.namespaced:
        return resource.path
    head, _, plural = resource.path.rpartition("/")
    return f"{head}/namespaces/{quote(namespace, safe='')}/{plural}"
