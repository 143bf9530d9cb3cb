"""`muster migrate`: from integer requests for devices to claims with the same meaning."""

from pathlib import Path
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.dumps import read_dump
from muster_cli.offline.migrate import Result, fit_line, migrate_files, report, write_outputs
from muster_cli.offline.migrate_files import read_manifest_files
from muster_cli.offline.migrate_mapping import read_mapping
from muster_cli.options import OutputOption
from muster_migrate import Saying

CheckOption = Annotated[
    list[str] | None,
    typer.Option("--check", help="dump of the cluster: attributes come from it, and the new form is proven on it"),
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", envvar="MUSTER_KUBECONFIG", help="check against this cluster (read only)"),
]
_WORDS = {
    Saying.CHANGED: "changed",
    Saying.KEPT: "kept   ",
    Saying.NOTE: "note   ",
    Saying.NO_EQUIVALENT: "[bold yellow]stays  [/]",
    Saying.INVALID: "[bold red]invalid[/]",
}


def migrate(
    paths: Annotated[list[str], typer.Argument(metavar="FILE...", help="manifests: files, directories, or -")],
    check: CheckOption = None,
    kubeconfig: KubeconfigOption = None,
    context: Annotated[str, typer.Option(help="context of the kubeconfig; with it the cluster is checked")] = "",
    mapping: Annotated[
        Path | None, typer.Option("--map", help="what else resources stand for: {resources: [{resource, …}]}")
    ] = None,
    device_classes: Annotated[
        bool, typer.Option("--device-classes", help="also write the DeviceClasses that claims name and no dump shows")
    ] = False,
    extended_resource: Annotated[
        bool,
        typer.Option("--extended-resource", help="edit no pod: write DeviceClasses that serve the integers (KEP-5004)"),
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="write into the files themselves")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="write all files under this directory")] = None,
    diff: Annotated[bool, typer.Option("--diff", help="show a unified diff instead of the manifests")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Turn integer device requests into DRA claims with the same meaning; explain each change and what has none.

    The new manifests go to standard output, the explanations to standard error; -o json gives the report alone.

    Exit status 0: done, and with --check proven; 1: something has no equivalent, or the check failed; 2: bad input.

    Examples:

      muster migrate train.yaml > train-dra.yaml

      muster migrate manifests/ --check cluster.yaml --diff

      muster migrate manifests/ --extended-resource --out classes/
    """
    if write and out is not None:
        raise UserError("--write changes the files themselves and --out writes copies; choose one")
    if write and "-" in paths:
        raise UserError("--write has no file to write standard input to; use --out")
    if write and (extended_resource or device_classes):
        raise UserError("the new DeviceClasses belong to no file; use --out")
    mapped = read_mapping(mapping)
    files, rejected = read_manifest_files(paths)
    objects, whole = _evidence(check, kubeconfig, context)
    with stderr.status(f"migrating {sum(len(file.documents) for file in files)} objects"):
        result = migrate_files(files, objects, mapped, extended=extended_resource, classes=device_classes)
    for refusal in (*rejected, *result.rejected):
        stderr.print(f"refused  {refusal.sentence()}", markup=False, soft_wrap=True)
    if write or out is not None:
        for target in write_outputs(result.outputs, out):
            stderr.print(f"wrote    {target}", markup=False, soft_wrap=True)
    if output is not Output.TABLE:
        document = report(result)
        document["rejected"] = [each.sentence() for each in (*rejected, *result.rejected)]
        print_document(document, output)
    else:
        _explain(result)
        if diff:
            stdout.file.write("".join(each.diff() for each in result.outputs))
        elif not write and out is None:
            shown = [each.new for each in result.outputs if not extended_resource or each.file is None]
            stdout.file.write(_joined(shown))
    raise typer.Exit(_status(result, refused=bool(rejected or result.rejected or not whole)))


def _evidence(
    check: list[str] | None, kubeconfig: Path | None, context: str
) -> tuple[list[dict[str, object]] | None, bool]:
    """The objects of a dump or a cluster, None without either, and whether all of them could be read."""
    if kubeconfig is not None or context:
        if check:
            raise UserError("--check reads a dump and --kubeconfig a cluster; choose one")
        from muster_cli.live.migrate_cluster import read_cluster

        with stderr.status("reading the cluster"):
            manifests, refused = read_cluster(kubeconfig, context)
        for refusal in refused:
            stderr.print(f"refused  {refusal.sentence()}", markup=False, soft_wrap=True)
        return [dict(manifest.obj) for manifest in manifests], not refused
    if not check:
        return None, True
    dump = read_dump(check)
    return dump.objects, not dump.rejected


def _explain(result: Result) -> None:
    for remark in result.migration.remarks:
        stderr.print(f"{_WORDS[remark.saying]}  ", end="")
        stderr.print(remark.sentence(), markup=False, soft_wrap=True)
    if not result.migration.remarks:
        stderr.print("nothing asks for devices by number: nothing to do", markup=False)
    if result.check is None:
        return
    for pod in result.check.pods:
        word = "[green]proven [/]" if pod.proven else "[bold red]differs[/]"
        word = "[yellow]nowhere[/]" if pod.nowhere else word
        stderr.print(f"{word}  ", end="")
        name = f"{pod.subject} ({pod.role})" if pod.role else pod.subject
        stderr.print(f"{name}: {fit_line(pod)}", markup=False, soft_wrap=True)
    for each in result.check.sold_twice:
        stderr.print("[bold red]twice  [/]  ", end="")
        stderr.print(each.sentence(), markup=False, soft_wrap=True)


def _joined(texts: list[str]) -> str:
    """Several files as one stream of documents."""
    whole = ""
    for text in texts:
        if whole and not whole.endswith("\n"):
            whole += "\n"
        if whole and not text.lstrip().startswith("---"):
            whole += "---\n"
        whole += text
    return whole


def _status(result: Result, *, refused: bool) -> ExitStatus:
    if refused or result.migration.says(Saying.INVALID):
        return ExitStatus.BAD_INPUT
    if result.migration.says(Saying.NO_EQUIVALENT):
        return ExitStatus.NO
    return ExitStatus.NO if result.check is not None and not result.check.passed else ExitStatus.YES
