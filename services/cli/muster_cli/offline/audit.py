"""Dumps of one cluster, in order, as `muster_audit` takes them: nothing is folded together, refusals are kept."""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn

from muster_audit import Dump as ClusterDump
from muster_audit import Refused
from muster_cli.console import stderr
from muster_cli.exits import UserError
from muster_cli.offline.dumps import Dump, print_problems
from muster_kube import STDIN, Manifest, Reading, Rejected, Skipped, object_key, read_path
from muster_kube.json_objects import read_json
from muster_kube.parsed import Parsed
from muster_kube.readings import DEFAULT_LIMITS
from muster_kube.yaml_objects import read_yaml

_BESIDE = frozenset({"ResourceQuota"})
"""Kinds that only an audit asks for; they are taken as they are."""


@dataclass(frozen=True, slots=True)
class AuditInput:
    """The dumps in order. `refused`: something in them could not be taken."""

    dumps: tuple[ClusterDump, ...]
    refused: bool


def read_audit_input(first: Sequence[str], later: Sequence[str]) -> AuditInput:
    """The first dump from all paths given together, then one dump for each later path; problems go to standard error."""
    dumps: list[ClusterDump] = []
    refused = False
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=stderr, transient=True) as progress:
        task = progress.add_task("reading")
        for paths in (list(first), *([path] for path in later)):
            manifests: list[Manifest] = []
            rejected: list[Rejected] = []
            beside: list[Mapping[str, object]] = []
            for path in paths:
                for count, reading in enumerate(_readings(path, beside), 1):
                    if isinstance(reading, Manifest):
                        manifests.append(reading)
                    elif isinstance(reading, Rejected):
                        rejected.append(reading)
                    if count % 500 == 0:
                        progress.update(task, description=f"reading {path}: {count} objects")
            print_problems(Dump(tuple(manifests), tuple(rejected), ()))
            refused = refused or bool(rejected)
            if not manifests and not any(each.obj for each in rejected):
                raise UserError(
                    f"no Kubernetes object that Muster reads in {', '.join(paths)}; dump a cluster with\n"
                    "  kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,"
                    "podtemplates,resourcequotas -A -o yaml > dump.yaml"
                )
            objects = (*(manifest.obj for manifest in manifests), *beside)
            dumps.append(ClusterDump(objects, tuple(_refusals(rejected))))
    return AuditInput(tuple(dumps), refused)


def _refusals(rejected: Sequence[Rejected]) -> Iterator[Refused]:
    for each in rejected:
        if each.obj is not None and object_key(each.obj).name:
            yield Refused(object_key(each.obj), each.field, each.reason, each.obj)


def _readings(path: str, beside: list[Mapping[str, object]]) -> Iterator[Reading]:
    """Everything of a path; objects of kinds that only an audit asks for go to `beside`."""
    data = sys.stdin.buffer.read() if path == STDIN else b""
    files: list[str] = []
    for reading in read_path(path, stdin=io.BytesIO(data)):
        if isinstance(reading, Skipped) and reading.kind in _BESIDE:
            files.append(reading.file)
        yield reading
    for file in files:
        beside += _of_kinds(data if path == STDIN else Path(file).read_bytes())


def _of_kinds(data: bytes) -> Iterator[Mapping[str, object]]:
    json = data.lstrip()[:1] in (b"{", b"[")
    for each in read_json(data) if json else read_yaml(io.BytesIO(data), DEFAULT_LIMITS):
        if isinstance(each, Parsed) and isinstance(each.value, dict) and each.value.get("kind") in _BESIDE:
            yield each.value
