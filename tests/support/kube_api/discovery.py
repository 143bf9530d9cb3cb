"""What the server says it serves: `/api`, `/apis`, the versions, and the aggregated form of both."""

from collections.abc import Iterable, Sequence

from support.kube_api.answers import Json, not_found
from support.kube_api.kinds import ResourceType

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
AGGREGATED = "apidiscovery.k8s.io"
CONTENT_TYPE = f"application/json;g={AGGREGATED};v=v2;as=APIGroupDiscoveryList"


def group_versions(types: Iterable[ResourceType]) -> dict[str, list[str]]:
    """The versions of each group, in the order of the types; groups sorted."""
    found: dict[str, list[str]] = {}
    for each in types:
        versions = found.setdefault(each.group, [])
        versions += [version for version in each.versions if version not in versions]
    return dict(sorted(found.items()))


def core_versions() -> Json:
    """`/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(types: Iterable[ResourceType]) -> Json:
    """`/apis`."""
    groups: list[Json] = []
    for group, versions in group_versions(types).items():
        if group:
            listed: list[Json] = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
            groups.append({"name": group, "versions": listed, "preferredVersion": listed[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def resource_list(types: Sequence[ResourceType], group: str, version: str) -> Json:
    """`/apis/<group>/<version>`. Raises StatusError 404."""
    served = [each for each in types if each.group == group and version in each.versions]
    if not served and (group, version) != ("", "v1"):
        raise not_found("the server could not find the requested resource")
    resources: list[Json] = []
    for each in served:
        own: Json = {
            "name": each.plural,
            "singularName": each.kind.lower(),
            "namespaced": each.namespaced,
            "kind": each.kind,
            "verbs": _VERBS,
        }
        resources.append(own)
        for below in sorted(each.subresources):
            kind = {"scale": "Scale", "binding": "Binding"}.get(below, each.kind)
            verbs = ["create"] if below == "binding" else ["get", "patch", "update"]
            resources.append({**own, "name": f"{each.plural}/{below}", "kind": kind, "verbs": verbs})
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}


def aggregated(types: Sequence[ResourceType], *, core: bool) -> Json:
    """APIGroupDiscoveryList v2 of `/api` or `/apis` (KEP-3352)."""
    groups: list[Json] = []
    for group, versions in group_versions(types).items():
        if (group == "") is core:
            listed = [{"version": v, "freshness": "Current", "resources": _nested(types, group, v)} for v in versions]
            groups.append({"metadata": {"name": group} if group else {}, "versions": listed})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/v2", "metadata": {}, "items": groups}


def _nested(types: Sequence[ResourceType], group: str, version: str) -> list[Json]:
    return [
        {
            "resource": each.plural,
            "singularResource": each.kind.lower(),
            "responseKind": {"group": group, "version": version, "kind": each.kind},
            "scope": "Namespaced" if each.namespaced else "Cluster",
            "verbs": _VERBS,
            "subresources": [
                {"subresource": s, "verbs": ["get", "patch", "update"]} for s in sorted(each.subresources)
            ],
        }
        for each in types
        if each.group == group and version in each.versions
    ]
