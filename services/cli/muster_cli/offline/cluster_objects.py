"""The objects of one cluster for an offline tool: from dumps, a live API server, or a running Muster."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muster_cli.console import stderr
from muster_cli.live.addresses import Addresses
from muster_cli.live.objects import Shown, export_cluster, list_cluster
from muster_cli.offline.dumps import read_dump
from muster_kube import Manifest, Rejected
from muster_types import ObjectKey

Json = Mapping[str, object]


def read_objects(
    paths: Sequence[str], addresses: Addresses | None, cluster: str, live: tuple[Path | None, str] | None
) -> tuple[list[Json], bool]:
    """The objects, files over what the cluster shows, and whether anything was refused or could not be read.

    `addresses` asks the inventory of a running Muster; `live` is a kubeconfig and a context of it.
    """
    found: dict[ObjectKey, Json] = {}
    refused = False
    shown: Shown | None = None
    with stderr.status("reading the cluster") as status:
        if addresses is not None:
            shown = export_cluster(addresses, cluster, status.update)
        elif live is not None:
            shown = list_cluster(*live, status.update)
    if shown is not None:
        rejected = [each for each in shown.readings if isinstance(each, Rejected)]
        for each in rejected:
            stderr.print(f"refused  {each.sentence()}", markup=False, soft_wrap=True)
        for sentence in shown.unread:
            stderr.print(f"warning  {sentence}; the answer may lack it", markup=False, soft_wrap=True)
        refused = bool(rejected or shown.unread)
        found |= {each.key: each.obj for each in shown.readings if isinstance(each, Manifest)}
    if paths:
        dump = read_dump(paths)
        refused = refused or bool(dump.rejected)
        found |= {manifest.key: manifest.obj for manifest in dump.manifests}
    return list(found.values()), refused
