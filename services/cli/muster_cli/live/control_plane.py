"""What runs a live cluster, read only: workloads, configuration, and the API versions that it serves."""

from pathlib import Path

import uvloop

from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.objects import Shown, Tell
from muster_kube import Manifest, Reading, Source, object_key
from muster_kubeapi import (
    AccessInvalid,
    KubeClient,
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

_WANTED = (
    Wanted("Deployment", "apps", ("v1",), "deployments"),
    Wanted("DaemonSet", "apps", ("v1",), "daemonsets"),
    Wanted("StatefulSet", "apps", ("v1",), "statefulsets"),
    Wanted("ConfigMap", "", ("v1",), "configmaps"),
    Wanted("APIService", "apiregistration.k8s.io", ("v1",), "apiservices"),
    Wanted("CustomResourceDefinition", "apiextensions.k8s.io", ("v1",), "customresourcedefinitions"),
)


def list_control_plane(kubeconfig: Path | None, context: str, tell: Tell) -> Shown:
    """Listed once; what we may not list is told in `unread`. Raises UserError where the cluster cannot be reached."""
    access = find_access(kubeconfig, context)
    try:
        return uvloop.run(_listed(KubeClient(access, agent="muster-cli"), tell))
    except AccessInvalid as error:
        raise UserError(f"{error}; name a kubeconfig by --kubeconfig and a context by --context") from error
    except Unreachable as error:
        raise UserError(f"{describe(access)}: {error}", ExitStatus.UNREACHABLE) from error
    except Refused as error:
        raise UserError(f"{describe(access)}: {error}; it needs the right to get and list") from error


async def _listed(opened: KubeClient, tell: Tell) -> Shown:
    readings: list[Reading] = []
    unread: list[str] = []
    async with opened as client:
        for kind, found in (await discover(client, _WANTED)).items():
            if isinstance(found, Unsure):
                unread.append(f"{kind} is not read: {found.reason}")
            if not isinstance(found, Served):
                continue
            objects: list[dict[str, object]] = []
            head = {"apiVersion": found.resource.api_version, "kind": found.resource.kind}
            try:
                async for page in list_pages(client, found.resource):
                    objects = list[dict[str, object]]() if page.first else objects
                    objects += [{**head, **each} for each in page.items]
                    tell(f"listing {found.resource.plural}: {len(objects)}")
            except Refused as error:
                unread.append(f"{found.resource.plural} are not read: {error}")
                continue
            source = Source(found.resource.path)
            readings += [Manifest(source, object_key(each), each) for each in objects]
    return Shown(tuple(readings), tuple(unread))
