"""`muster allocate`: the scheduler's choice of devices, node by node, for what a dump or a row asks."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from io import BufferedReader
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stderr
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.allocate_answers import Answer, Word, answer, answer_json, devices_text
from muster_cli.offline.allocate_input import STDIN, are_rows, open_rows, peekable_stdin
from muster_cli.offline.allocate_subjects import subject_of_claims, subject_of_pod, waiting_subjects
from muster_cli.offline.dumps import read_dump
from muster_cli.options import OutputOption
from muster_cli.rows import answer_rows
from muster_dra import Features, Meaning, UnknownGate, solve_problem
from muster_plan import ClusterNode, Snapshot
from muster_types import ObjectKey

RELEASES = {"v1.36": Features.v1_36(), "v1.37": Features.v1_37()}

Sources = Annotated[
    list[str],
    typer.Argument(metavar="- | DUMP... | ROWS...", help="Kubernetes YAML or JSON, or JSON lines; - is stdin"),
]


def allocate(
    sources: Sources,
    pod: Annotated[str, typer.Option("--pod", metavar="NS/NAME", help="only the claims of this pod")] = "",
    claim: Annotated[
        list[str] | None, typer.Option("--claim", metavar="NS/NAME", help="this claim; several: as of one pod")
    ] = None,
    node: Annotated[str, typer.Option("--node", help="ask this node only; default: every node")] = "",
    release: Annotated[str, typer.Option("--release", help="v1.37 or v1.36: the scheduler that answers")] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="as the API documents it, without upstream's defects")
    ] = False,
    gate: Annotated[
        list[str] | None, typer.Option("--gate", metavar="NAME=true|false", help="set a feature gate; may be repeated")
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="the input is JSON lines, whatever it looks like")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Allocate devices exactly as kube-scheduler would, on each node: yes with
    the devices, or no with the reasons.

    A dump holds nodes, resourceslices, deviceclasses, resourceclaims, pods
    and what else kubectl prints. Without --pod or --claim every pending pod
    that wants devices and every other claim without devices is answered, each
    by itself, as things stand. Defaults are filled as the API server does,
    allocated claims hold their devices, DeviceTaintRules and extended
    resources count. Only devices are looked at: CPUs, node taints and
    affinity are for muster audit.

    Exit status 0: each subject fits some node and no node ends the attempt;
    1: not so; 2: bad input, also if only a part of it was refused.

    Examples:

      muster allocate examples/dra/gpu-pair.yaml

      muster allocate examples/dra/gpu-pair.yaml --pod team-a/train --node node-1 -o json

      muster allocate examples/dra/problems.jsonl

      gzip -dc allocator-random.jsonl.gz | muster allocate -

    JSON lines (.jsonl, --rows, or what looks like it): one problem a line,
    with the keys nodes and claims (required), slices, classes, taintRules,
    allocated (claims with status.allocation), allocatedDevices
    (driver/pool/device), allocatedShared (driver/pool/device/shareID),
    allocatedCapacity; features (gates by name; one that is missing is off),
    release (v1.36, v1.37), strict (true). Objects are taken as written, no
    default is filled in. Without release a row is answered as 1.36 with its
    known defects mended and every gate on, which is what recorded the
    corpora. The answer: id, and for each node a status: ok (with claims),
    none, nodeError, error; or error for the line. docs/dra.md says more.
    """
    if not sources:
        raise UserError("name a dump, a file of JSON lines, or - for standard input")
    stdin = peekable_stdin() if STDIN in sources else None
    if rows or are_rows(sources, stdin):
        if pod or claim or node or release or strict or gate or output is not Output.TABLE:
            raise UserError(
                "rows say themselves what they ask (release, strict, features, nodes); leave the options out"
            )
        raise typer.Exit(_answer_rows(sources, stdin))
    features = _features(release, strict=strict, gates=gate or [])
    dump = read_dump(sources, stdin=stdin)
    snapshot = Snapshot.build(dump.objects, features=features)
    for key, problem in sorted(snapshot.problems.items()):
        stderr.print(f"refused  {key}: {problem.field}: {problem.reason}", markup=False, soft_wrap=True)
    objects = {manifest.key: manifest.obj for manifest in dump.manifests}
    if pod and claim:
        raise UserError("give --pod or --claim, not both")
    if pod:
        subjects = [subject_of_pod(snapshot, objects, pod)]
    elif claim:
        subjects = [subject_of_claims(snapshot, claim)]
    else:
        subjects = waiting_subjects(snapshot, objects)
    nodes = _nodes(snapshot, node)
    answers = [answer(snapshot, subject, nodes) for subject in subjects]
    if output is Output.TABLE:
        _print(answers)
    else:
        print_document([answer_json(each) for each in answers], output)
    if dump.rejected or snapshot.problems:
        raise typer.Exit(ExitStatus.BAD_INPUT)
    raise typer.Exit(ExitStatus.YES if all(each.word is Word.YES for each in answers) else ExitStatus.NO)


def _answer_rows(sources: Sequence[str], stdin: BufferedReader | None) -> ExitStatus:
    status = ExitStatus.YES
    for source in sources:
        if source == STDIN and stdin is not None:
            status = max(status, answer_rows(solve_problem, stdin, sys.stdout.buffer))
            continue
        with open_rows(source) as lines:
            status = max(status, answer_rows(solve_problem, lines, sys.stdout.buffer))
    return status


def _features(release: str, *, strict: bool, gates: Sequence[str]) -> Features:
    if release and release not in RELEASES:
        raise UserError(f"--release {release}: there is no such release; choose one of {', '.join(RELEASES)}")
    chosen = RELEASES[release or "v1.37"]
    if strict:
        chosen = replace(chosen, meaning=Meaning.DOCUMENTED)
    wanted: dict[str, bool] = {}
    for each in gates:
        name, _, value = each.partition("=")
        if value not in ("true", "false"):
            raise UserError(f"--gate {each}: write NAME=true or NAME=false")
        wanted[name] = value == "true"
    try:
        return chosen.with_gates(wanted)
    except UnknownGate as error:
        raise UserError(f"--gate: {error}") from error


def _nodes(snapshot: Snapshot, only: str) -> list[ClusterNode]:
    there = snapshot.tables.nodes
    if not there:
        raise UserError("the dump has no Node; add the output of `kubectl get nodes -o yaml`")
    if not only:
        return [there[key] for key in sorted(there)]
    found = there.get(ObjectKey("Node", "", only))
    if found is None:
        names = sorted(key.name for key in there)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise UserError(f"node {only} is not in the dump; it has {', '.join(names[:5])}{more}")
    return [found]


def _print(answers: Sequence[Answer]) -> None:
    table: list[tuple[str, str, str, str]] = []
    for each in answers:
        if each.subject.refusal:
            table.append((each.subject.name, "", Word.NO.value, each.subject.refusal))
        for node in each.nodes:
            text = devices_text(node) if node.word is Word.YES else "; ".join(node.why)
            table.append((each.subject.name, node.node, node.word.value.replace("_", " "), text))
    print_table(("SUBJECT", "NODE", "ANSWER", "DEVICES, OR WHY NOT"), table, empty="nothing waits for devices")
    for each in answers:
        for note in each.subject.notes:
            stderr.print(f"note  {each.subject.name}: {note}", markup=False, soft_wrap=True)
        if each.word is Word.FATAL:
            text = "a fatal node ends the whole attempt, even if others would do"
            stderr.print(f"note  {each.subject.name}: {text}", markup=False, soft_wrap=True)
