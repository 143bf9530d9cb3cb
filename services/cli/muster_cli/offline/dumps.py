"""Reads dumps for the offline commands: progress while it takes long, every problem named, the rest goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from rich.progress import Progress, SpinnerColumn, TextColumn

from muster_cli.console import stderr
from muster_cli.exits import UserError
from muster_kube import Manifest, Rejected, Skipped, read_path
from muster_types import ObjectKey

DUMP_COMMAND = (
    "kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,devicetaintrules,"
    "podtemplates -A -o yaml > dump.yaml"
)
NOT_SERVED = (
    "If kubectl says that the server has no resource type devicetaintrules (or another one), leave that name out: "
    "a cluster that does not serve a kind has none of it."
)


@dataclass(frozen=True, slots=True)
class Dump:
    """What the files hold; a later object of the same kind, namespace and name takes the place of an earlier one."""

    manifests: tuple[Manifest, ...]
    rejected: tuple[Rejected, ...]
    skipped: tuple[Skipped, ...]

    @property
    def objects(self) -> list[dict[str, object]]:
        """The objects as Kubernetes JSON."""
        return [dict(manifest.obj) for manifest in self.manifests]


def read_dump(paths: Sequence[str], *, stdin: BinaryIO | None = None) -> Dump:
    """Read files, directories, or `-`: `stdin` if given. Nothing readable is an error that says where was looked."""
    found: dict[ObjectKey, Manifest] = {}
    rejected: list[Rejected] = []
    skipped: list[Skipped] = []
    columns = SpinnerColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task("reading")
        for path in paths:
            for count, reading in enumerate(read_path(path, stdin=stdin), 1):
                match reading:
                    case Manifest():
                        found[reading.key] = reading
                    case Rejected():
                        rejected.append(reading)
                    case Skipped():
                        skipped.append(reading)
                if count % 200 == 0:
                    progress.update(task, description=f"reading {path}: {count} objects")
    dump = Dump(tuple(found.values()), tuple(rejected), tuple(skipped))
    print_problems(dump)
    if not dump.manifests:
        raise UserError(
            f"no Kubernetes object that Muster reads in {', '.join(paths)}; dump a cluster with\n  {DUMP_COMMAND}\n"
            f"{NOT_SERVED}"
        )
    return dump


def print_problems(dump: Dump) -> None:
    """Every refusal and warning as file, object, field and reason, on standard error."""
    for refusal in dump.rejected:
        stderr.print(f"refused  {refusal.sentence()}", markup=False, soft_wrap=True)
    for manifest in dump.manifests:
        for warning in manifest.warnings:
            stderr.print(
                f"warning  {manifest.source}: {manifest.key}: {warning.field}: {warning.reason}",
                markup=False,
                soft_wrap=True,
            )
