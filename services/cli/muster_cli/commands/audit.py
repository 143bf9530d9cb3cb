"""`muster audit`: why is it pending, and would more nodes help?"""

from dataclasses import asdict
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stderr
from muster_cli.exits import ExitStatus
from muster_cli.offline.audit import Verdict, audit_manifests
from muster_cli.offline.dumps import read_dump
from muster_cli.options import OutputOption


def audit(
    paths: Annotated[list[str], typer.Argument(metavar="DUMP...", help="files, directories, or - for standard input")],
    output: OutputOption = Output.TABLE,
) -> None:
    """A verdict for every pending pod and ProvisioningRequest of a dump: fits now, fits with more nodes, or why not.

    Exit status 0: everything fits as it is or with more nodes; 1: something cannot; 2: part of the input was refused.

    Examples:

      muster audit examples/fleet

      kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,devicetaintrules \\
        -A -o yaml | muster audit -

    Leave out of the list what kubectl says the server does not have (devicetaintrules are not served everywhere).
    """
    dump = read_dump(paths)
    with stderr.status(f"judging {len(dump.manifests)} objects"):
        verdicts = audit_manifests(dump.manifests)
    if output is Output.TABLE:
        print_table(
            ("SUBJECT", "VERDICT", "WHERE", "WHY"),
            [(v.subject, _word(v), _where(v), v.why) for v in verdicts],
            empty="nothing is pending",
        )
    else:
        print_document([asdict(verdict) for verdict in verdicts], output)
    if dump.rejected:
        raise typer.Exit(ExitStatus.BAD_INPUT)
    raise typer.Exit(ExitStatus.NO if any(v.verdict == "infeasible" for v in verdicts) else ExitStatus.YES)


def _word(verdict: Verdict) -> str:
    return f"{verdict.verdict}: {verdict.reason}" if verdict.reason else verdict.verdict


def _where(verdict: Verdict) -> str:
    return verdict.node or (f"{verdict.nodes} × {verdict.group}" if verdict.group else "")
