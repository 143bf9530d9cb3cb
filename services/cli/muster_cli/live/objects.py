"""What a cluster shows now, as a dump would hold it: listed from its API server, or exported by a running Muster."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson
import uvloop

from muster.api.inventory.v1 import inventory_service_pb2 as api
from muster.events.observed.v1.observed_pb2 import SEVERITY_WARNING
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses
from muster_cli.live.clients import inventory
from muster_kube import KINDS, Manifest, Reading, Rejected, Severity, Source, object_key, validate
from muster_kubeapi import (
    AccessInvalid,
    Found,
    KubeClient,
    Lacking,
    Refused,
    Served,
    Unreachable,
    Unsure,
    Wanted,
    describe,
    discover,
    find_access,
    list_pages,
)

Tell = Callable[[str], None]
"""Called with what is being read."""

_BESIDE = (Wanted("ResourceQuota", "", ("v1",), "resourcequotas"),)
"""Kinds that an audit asks for beside those that the services follow."""
CONTROL_PLANE = (
    Wanted("Deployment", "apps", ("v1",), "deployments"),
    Wanted("DaemonSet", "apps", ("v1",), "daemonsets"),
    Wanted("StatefulSet", "apps", ("v1",), "statefulsets"),
    Wanted("ConfigMap", "", ("v1",), "configmaps"),
    Wanted("APIService", "apiregistration.k8s.io", ("v1",), "apiservices"),
    Wanted("CustomResourceDefinition", "apiextensions.k8s.io", ("v1",), "customresourcedefinitions"),
)
"""What runs a cluster: workloads, configuration, and the API versions that it serves."""


@dataclass(frozen=True, slots=True)
class Shown:
    """`readings` are as of a dump. `unread` are sentences about kinds that the cluster has and we could not list: the
    answer may lack them."""

    readings: tuple[Reading, ...]
    unread: tuple[str, ...]


def list_cluster(kubeconfig: Path | None, context: str, tell: Tell, also: Sequence[Wanted] = ()) -> Shown:
    """Every kind that Muster reads and those in `also`, listed once, read-only. A kind that the cluster lacks
    is left out, one that we may not list is told. Raises UserError where the cluster cannot be reached."""
    access = find_access(kubeconfig, context)
    try:
        return uvloop.run(_listed(KubeClient(access, agent="muster-cli"), tell, also))
    except AccessInvalid as error:
        raise UserError(f"{error}; name a kubeconfig by --kubeconfig and a context by --context") from error
    except Unreachable as error:
        raise UserError(f"{describe(access)}: {error}", ExitStatus.UNREACHABLE) from error
    except Refused as error:
        raise UserError(f"{describe(access)}: {error}; it needs the right to get and list") from error


async def _listed(opened: KubeClient, tell: Tell, also: Sequence[Wanted]) -> Shown:
    readings: list[Reading] = []
    unread: list[str] = []
    async with opened as client:
        wanted = [Wanted(kind.name, kind.group, kind.versions, kind.plural) for kind in KINDS.values()]
        for kind, found in (await discover(client, [*wanted, *_BESIDE, *also])).items():
            sentence = _cannot(kind, found)
            if sentence:
                unread.append(sentence)
            if not isinstance(found, Served):
                continue
            objects: list[dict[str, object]] = []
            try:
                async for page in list_pages(client, found.resource):
                    objects = list[dict[str, object]]() if page.first else objects
                    # Items of a list of the server's own kinds have neither apiVersion nor kind.
                    objects += [
                        {"apiVersion": found.resource.api_version, "kind": found.resource.kind, **each}
                        for each in page.items
                    ]
                    tell(f"listing {found.resource.plural}: {len(objects)}")
            except Refused as error:
                unread.append(f"{found.resource.plural} are not read: {error}")
                continue
            readings += _judged(found.resource.path, objects)
    return Shown(tuple(readings), tuple(unread))


def _cannot(kind: str, found: Found) -> str:
    """Why a kind that the cluster has is not read; "" for one that is, and for one that it does not have."""
    match found:
        case Unsure(reason=reason):
            return f"{kind} is not read: {reason}"
        case Lacking() if found.offered and KINDS.get(kind) is not None and KINDS[kind].group.endswith("k8s.io"):
            return f"{kind} is not read: {found.reason}"
        case _:
            return ""


def export_cluster(addresses: Addresses, cluster: str, tell: Tell) -> Shown:
    """What the inventory of a running Muster shows of a cluster. Raises UserError where it does not answer."""
    objects: list[dict[str, object]] = []
    problems: list[Reading] = []
    with inventory(addresses) as client:
        for part in client.ExportObjects(api.ExportObjectsRequest(cluster=cluster)):
            objects += [cast("dict[str, object]", orjson.loads(each)) for each in part.objects]
            problems += [
                Rejected(Source(each.source), each.object, each.field, each.reason)
                for each in part.problems
                if each.severity != SEVERITY_WARNING
            ]
            tell(f"reading from the inventory: {len(objects)} objects")
    return Shown((*_judged("observed", objects), *problems), ())


def _judged(source: str, objects: Sequence[dict[str, object]]) -> Iterator[Reading]:
    """Objects that an API server stores are sound unless it is newer or older than we know."""
    for obj in objects:
        key = object_key(obj)
        problems = validate(obj) if key.kind in KINDS else ()
        errors = [each for each in problems if each.severity is Severity.ERROR]
        if not errors:
            yield Manifest(Source(source), key, obj)
        for error in errors:
            yield Rejected(Source(source), str(key), error.field, error.reason, obj)
