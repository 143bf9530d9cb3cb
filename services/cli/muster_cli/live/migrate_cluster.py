"""A cluster read once, read only, as the offline commands read a dump."""

import asyncio
from pathlib import Path

from muster_cli.exits import ExitStatus, UserError
from muster_kube import DEFAULT_LIMITS, KINDS, Manifest, Rejected, Source
from muster_kube.manifests import judge
from muster_kubeapi import (
    AccessInvalid,
    KubeClient,
    KubeError,
    Served,
    Wanted,
    describe,
    discover,
    find_access,
    list_pages,
)

_NEEDED = ("Node", "Pod", "ResourceSlice", "ResourceClaim", "DeviceClass", "DeviceTaintRule")


def read_cluster(kubeconfig: Path | None, context: str) -> tuple[list[Manifest], list[Rejected]]:
    """What placement needs to know of a cluster. Raises UserError where it cannot be reached."""
    access = find_access(kubeconfig, context)
    try:
        return asyncio.run(_read(KubeClient(access, agent="muster-migrate")))
    except AccessInvalid as error:
        raise UserError(str(error)) from error
    except KubeError as error:
        raise UserError(f"{describe(access)}: {error}", ExitStatus.UNREACHABLE) from error


async def _read(client: KubeClient) -> tuple[list[Manifest], list[Rejected]]:
    wanted = [Wanted(name, KINDS[name].group, KINDS[name].versions, KINDS[name].plural) for name in _NEEDED]
    manifests: list[Manifest] = []
    rejected: list[Rejected] = []
    async with client:
        for name, found in (await discover(client, wanted)).items():
            if not isinstance(found, Served):
                continue  # a cluster without DRA has no slices: then nothing is published, and the check says so
            source = Source(f"the cluster's {found.resource}")
            listed: list[Manifest | Rejected] = []
            async for page in list_pages(client, found.resource):
                if page.first:
                    listed = []
                for item in page.items:
                    obj = {**item, "apiVersion": found.resource.api_version, "kind": name}
                    listed += judge(source, obj, KINDS[name], DEFAULT_LIMITS)
            manifests += [each for each in listed if isinstance(each, Manifest)]
            rejected += [each for each in listed if isinstance(each, Rejected)]
    return manifests, rejected
