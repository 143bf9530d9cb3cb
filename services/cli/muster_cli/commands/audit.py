"""`muster audit`: why is it pending, and would more nodes help?"""

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.tree import Tree

from muster_audit import Branch, Cluster, Report, Row, Word, audit_cluster, explain_pod
from muster_cli.console import Output, print_document, print_table, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.audit import read_audit_input
from muster_cli.options import OutputOption

_QUIET = frozenset({Word.PLACED, Word.IDLE, Word.USAGE})
"""What a table leaves out: nothing has to be done about it."""


def audit(
    paths: Annotated[list[str], typer.Argument(metavar="DUMP...", help="files, directories, or - for standard input")],
    then: Annotated[
        list[str] | None, typer.Option("--then", help="a later dump of the same cluster; may be given again, in order")
    ] = None,
    pod: Annotated[str, typer.Option("--pod", help="explain one pod, as namespace/name, down to each device")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Say of everything that is pending whether it fits now, with more nodes, or why not; and what else is wrong.

    With --then, what earlier dumps showed is remembered: slices that went away, values that changed. Objects with the
    annotations input.example.com/step and input.example.com/event are replayed step by step.

    Exit status 0: everything fits as it is or with more nodes; 1: something does not; 2: part of the input was refused.

    Examples:

      muster audit examples/fleet

      kubectl get nodes,pods,resourceslices,resourceclaims,deviceclasses -A -o yaml | muster audit -

      muster audit monday.yaml --then tuesday.yaml --pod team-a/train-0
    """
    found = read_audit_input(paths, then or [])
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=stderr, transient=True
    ) as progress:
        task = progress.add_task("reading objects", total=None)
        cluster = Cluster.from_dumps(found.dumps)
        if pod:
            fits = _explain(cluster, pod, output)
        else:
            report = audit_cluster(
                cluster,
                progress=lambda what, done, total: progress.update(task, description=what, completed=done, total=total),
            )
            fits = report.all_fit
    if not pod:
        _print(report, output)
    if found.refused:
        raise typer.Exit(ExitStatus.BAD_INPUT)
    raise typer.Exit(ExitStatus.YES if fits else ExitStatus.NO)


def _print(report: Report, output: Output) -> None:
    if output is not Output.TABLE:
        print_document(report.to_json(), output)
        return
    rows = [row for row in report.rows if row.verdict not in _QUIET and not _said_as_finding(row, report)]
    print_table(
        ("SUBJECT", "VERDICT", "WHERE", "WHY", "REMEDY"),
        [(row.subject, _word(row), _where(row), row.why, row.remedy) for row in rows],
        empty="nothing is pending",
    )
    if report.findings:
        stdout.print()
        print_table(
            ("FINDING", "OBJECT", "WHY", "REMEDY"),
            [(each.kind, each.object, each.why, each.remedy) for each in report.findings],
            empty="",
        )


def _said_as_finding(row: Row, report: Report) -> bool:
    """The second table says it."""
    return row.verdict in (Word.FINDING, Word.INVALID_INPUT) and any(
        each.object == row.subject for each in report.findings
    )


def _word(row: Row) -> str:
    return f"{row.verdict}: {row.reason}" if row.reason and row.reason != row.verdict else row.verdict.value


def _where(row: Row) -> str:
    parts = [row.node] if row.node else []
    if row.nodes:
        parts.append(f"{row.nodes} more of {row.group}")
    return "; ".join(parts)


def _explain(cluster: Cluster, pod: str, output: Output) -> bool:
    namespace, slash, name = pod.partition("/")
    if not slash:
        namespace, name = "default", pod
    found = explain_pod(cluster, namespace, name)
    if found is None:
        raise UserError(f"no pending pod {namespace}/{name} in the dump; muster audit without --pod lists them")
    if output is Output.TABLE:
        stdout.print(_tree(found.tree))
    else:
        print_document(found.to_json(), output)
    return found.row.verdict in (Word.FEASIBLE, Word.SCALE_UP, Word.PLACED)


def _tree(branch: Branch, parent: Tree | None = None) -> Tree:
    mark = {True: "[green]✓[/green] ", False: "[red]✗[/red] ", None: ""}[branch.fits]
    text = mark + branch.text.replace("[", "\\[")
    tree = Tree(text) if parent is None else parent.add(text)
    for child in branch.children:
        _tree(child, tree)
    return tree
