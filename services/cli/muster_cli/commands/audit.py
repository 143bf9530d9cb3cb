"""`muster audit`: why is it pending, and would more nodes help?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from muster_audit import Cluster, Report, Word, audit_cluster, explain_pod
from muster_cli.console import Output, print_document, stderr
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.objects import Shown, export_cluster, list_cluster
from muster_cli.offline.audit import read_audit_input
from muster_cli.offline.audit_words import print_report, print_tree
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption


def audit(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="DUMP...", help="files, directories, or - for standard input")
    ] = None,
    then: Annotated[
        list[str] | None, typer.Option("--then", help="a later dump of the same cluster; may be given again, in order")
    ] = None,
    pod: Annotated[str, typer.Option("--pod", help="explain one pod, as namespace/name, down to each device")] = "",
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="list a live cluster, read-only, beside any files")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="the context of a live cluster in the kubeconfig")] = "",
    server: Annotated[
        bool, typer.Option("--server", help="ask the inventory of a running Muster, beside any files")
    ] = False,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say of everything that is pending whether it fits now, with more nodes, or why not; and what else is wrong.

    A cluster comes from dump files, its API server (--kubeconfig or --context), or a running Muster (--server).
    With --then, what earlier dumps showed is remembered: slices that went away, values that changed. Objects with the
    annotations input.example.com/step and input.example.com/event are replayed step by step.

    Exit status 0: everything fits as it is or with more nodes; 1: something does not; 2: part of the input was refused
    or could not be read; 3: the live cluster or the services do not answer.

    Examples:

      muster audit examples/fleet

      kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,devicetaintrules \\
        -A -o yaml | muster audit -

      muster audit monday.yaml --then tuesday.yaml --pod team-a/train-0

      muster audit groups.yaml --kubeconfig ~/.kube/config --context prod

    Leave out of the list what kubectl says the server does not have (devicetaintrules are not served everywhere).
    """
    if server and (kubeconfig is not None or context):
        raise UserError("--server and --kubeconfig are two clusters; give one of them")
    if not paths and not server and kubeconfig is None and not context:
        raise UserError("nothing to audit: name dump files, or --kubeconfig for a live cluster, or --server for Muster")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task("reading", total=None)

        def tell(what: str) -> None:
            progress.update(task, description=what)

        live: Shown | None = None
        if server:
            live = export_cluster(Addresses(state or default_state()), cluster, tell)
        elif kubeconfig is not None or context:
            live = list_cluster(kubeconfig, context, tell)
        found = read_audit_input(paths or [], then or [], live=None if live is None else live.readings, tell=tell)
        tell("reading objects")
        judged = Cluster.from_dumps(found.dumps)
        report = audit_cluster(
            judged,
            progress=lambda what, done, total: progress.update(task, description=what, completed=done, total=total),
        )
    for sentence in live.unread if live is not None else ():
        stderr.print(f"warning  {sentence}; the answer may lack it", markup=False, soft_wrap=True)
    fits = _explain(judged, report, pod, output) if pod else report.all_fit
    if not pod:
        if output is Output.TABLE:
            print_report(report)
        else:
            print_document(report.to_json(), output)
    if found.refused or (live is not None and live.unread):
        raise typer.Exit(ExitStatus.BAD_INPUT)
    raise typer.Exit(ExitStatus.YES if fits else ExitStatus.NO)


def _explain(cluster: Cluster, report: Report, pod: str, output: Output) -> bool:
    namespace, slash, name = pod.partition("/")
    if not slash:
        namespace, name = "default", pod
    found = explain_pod(cluster, report, namespace, name)
    if found is None:
        raise UserError(f"no pending pod {namespace}/{name} in the dump; muster audit without --pod lists them")
    if output is Output.TABLE:
        print_tree(found.tree)
    else:
        print_document(found.to_json(), output)
    return found.row.verdict in (Word.FEASIBLE, Word.SCALE_UP, Word.PLACED)
