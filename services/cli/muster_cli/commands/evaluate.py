"""`muster evaluate`: is this cluster's autoscaling fit for DRA gangs?"""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from muster_cli.console import Output, print_document, stderr
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.objects import CONTROL_PLANE, Shown, list_cluster
from muster_cli.offline.evaluate import evaluation_document, print_evaluation, read_input
from muster_cli.options import OutputOption
from muster_evaluate import evaluate as judge
from muster_plan import Snapshot


def evaluate(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="DUMP...", help="files, directories, or - for standard input")
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="list a live cluster, read-only, beside any files")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="the context of a live cluster in the kubeconfig")] = "",
    idle_minutes: Annotated[
        float | None,
        typer.Option(
            "--idle-minutes", min=0, help="life of an unneeded node; default: --scale-down-unneeded-time, else 10"
        ),
    ] = None,
    needed: Annotated[
        bool, typer.Option("--needed", help="in the table only capabilities that the pending work needs")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say whether kube-scheduler, Cluster Autoscaler, Karpenter and Kueue of this cluster can serve gangs with claims.

    Versions, flags and gates are read from workloads, static pods and ConfigMaps of the dump or the live cluster. Then
    the pending work is served twice on paper: pod by pod as an autoscaler does, and by Muster's plans. NodeGroup
    objects say what could be bought; nothing is changed or ordered.

    Exit status 0: fit; 1: a capability that the pending work needs is missing, or pod by pod does worse; 2: part of the
    input was refused or could not be read; 3: the live cluster does not answer.

    Examples:

      muster evaluate examples/evaluate --needed

      muster evaluate examples/fleet examples/story-1

      kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,podtemplates,\\
      deployments,daemonsets,configmaps,apiservices,customresourcedefinitions -A -o yaml | muster evaluate - groups.yaml

      muster evaluate groups.yaml --kubeconfig ~/.kube/config --context prod -o json
    """
    if not paths and kubeconfig is None and not context:
        raise UserError("nothing to evaluate: name dump files, or --kubeconfig for a live cluster")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task("reading", total=None)

        def tell(what: str) -> None:
            progress.update(task, description=what)

        shown: Shown | None = None
        if kubeconfig is not None or context:
            shown = list_cluster(kubeconfig, context, tell, CONTROL_PLANE)
        read = read_input(paths or [], () if shown is None else shown.readings)
        snapshot = Snapshot.build(read.objects)
        found = judge(
            read.objects,
            snapshot,
            read.files,
            idle_minutes=None if idle_minutes is None else Fraction(str(idle_minutes)),
            progress=lambda what, done, total: progress.update(task, description=what, completed=done, total=total),
        )
    unread = () if shown is None else shown.unread
    refused = [*read.refused, *(str(snapshot.problems[key]) for key in sorted(snapshot.problems))]
    for sentence in refused:
        stderr.print(f"refused  {sentence}", markup=False, soft_wrap=True)
    for sentence in unread:
        stderr.print(f"warning  {sentence}; the answer may lack it", markup=False, soft_wrap=True)
    if output is Output.TABLE:
        print_evaluation(found, only_needed=needed)
    else:
        print_document(evaluation_document(found), output)
    if refused or unread or found.pending.unread:
        raise typer.Exit(ExitStatus.BAD_INPUT)
    raise typer.Exit(ExitStatus.YES if found.fit else ExitStatus.NO)
