"""Reads what an evaluation needs beside an audit, and shows its answer: a document for programs, tables for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

import yaml

from muster_cli.console import print_table, stdout
from muster_cli.exits import UserError
from muster_evaluate import CapabilityRow, Component, ConfigFile, Evaluation, Setting, Share, Side, State, Where
from muster_kube import Manifest, Reading, Rejected, Skipped, object_key, read_path

CONTROL_KINDS = frozenset(
    {"Deployment", "DaemonSet", "StatefulSet", "ConfigMap", "APIService", "CustomResourceDefinition"}
)
"""What is read beside the kinds of an audit."""
DUMP_COMMAND = (
    "kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,podtemplates,"
    "deployments,daemonsets,configmaps,apiservices,customresourcedefinitions -A -o yaml > dump.yaml"
)
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Input:
    """`objects` in the order of the files, a later one of the same name in place of an earlier one."""

    objects: tuple[Json, ...]
    files: tuple[ConfigFile, ...]
    refused: tuple[str, ...]


def read_input(paths: Sequence[str], live: Sequence[Reading] = (), *, stdin: BinaryIO | None = None) -> Input:
    """Files, directories, `-`, and what a live cluster shows. Nothing readable is an error that says what to do."""
    found: dict[object, Manifest] = {}
    refused: list[str] = []
    readings = [each for path in paths for each in read_path(path, stdin=stdin, also=CONTROL_KINDS)]
    for each in (*live, *readings):
        match each:
            case Manifest():
                found[each.key] = each
            case Rejected():
                refused.append(each.sentence())
            case Skipped():
                pass
    if not found:
        said = "".join(f"\n  refused  {each}" for each in refused)
        raise UserError(f"no Kubernetes object in {', '.join(paths)}; dump a cluster with\n  {DUMP_COMMAND}{said}")
    files: list[ConfigFile] = []
    for manifest in found.values():
        if manifest.key.kind == "ConfigMap":
            for read in _config_files(manifest):
                if isinstance(read, ConfigFile):
                    files.append(read)
                else:
                    refused.append(read)
    return Input(tuple(dict(each.obj) for each in found.values()), tuple(files), tuple(refused))


def _config_files(manifest: Manifest) -> Iterator[ConfigFile | str]:
    """The configuration files of Kueue and the scheduler in a ConfigMap; others are not looked into."""
    data = manifest.obj.get("data")
    for name, written in sorted(cast("dict[str, object]", data).items()) if isinstance(data, dict) else ():
        if not isinstance(written, str) or not any(mark in written for mark in _MARKS):
            continue
        field = f"data[{name}]"
        try:
            body: object = yaml.load(written, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())[:200]
            yield f"{manifest.source}: {manifest.key}: {field}: it is no YAML ({reason}); dump the map again"
            continue
        if isinstance(body, dict):
            yield ConfigFile(Where(str(object_key(dict(manifest.obj))), field), cast("Json", body))


_MARKS = ("config.kueue.x-k8s.io/", "kubescheduler.config.k8s.io/")


def evaluation_document(found: Evaluation) -> Json:
    """Everything, in snake case."""
    return {
        "fit": found.fit,
        "missing": [row.capability.value for row in found.missing],
        "components": [
            {
                "name": each.part.value,
                "object": each.where.object,
                "image": each.image,
                "version": str(each.version) if each.version is not None else None,
                "read_from": str(each.version_where),
                "flags": {name: _setting(each.flags[name]) for name in sorted(each.flags)},
                "gates": {name: _setting(each.gates[name]) for name in sorted(each.gates)},
            }
            for each in found.components
        ],
        "served": [
            {"group": each.group, "version": each.version, "read_from": each.read_from} for each in found.served
        ],
        "gates": [
            {"name": each.name, "state": each.state.value, "why": each.why, "read_from": each.read_from or None}
            for each in found.gates
        ],
        "capabilities": [_capability(row, found) for row in found.capabilities],
        "work": [
            {
                "subject": row.work.subject,
                "pods": row.work.pods,
                "together": row.work.together,
                "pod_by_pod": _share(row.pod_by_pod),
                "muster": _share(row.muster),
            }
            for row in found.comparison.rows
        ],
        "unread": [{"subject": each.subject, "why": each.why} for each in found.pending.unread],
        "pod_by_pod": _side(found.comparison.pod_by_pod),
        "muster": _side(found.comparison.muster),
        "pod_by_pod_as_good": found.comparison.as_good,
        "assumptions": list(found.assumptions),
    }


def _setting(setting: Setting) -> Json:
    return {"value": setting.value, "read_from": str(setting.where)}


def _capability(row: CapabilityRow, found: Evaluation) -> Json:
    return {
        "capability": row.capability.value,
        "answer": row.level.word,
        "needed_by": list(found.needed[row.capability]) if row.capability in found.needed else None,
        "components": [
            {
                "name": each.part.value,
                "answer": each.level.word,
                "why": each.why,
                "read_from": list(each.read_from),
            }
            for each in row.verdicts
        ],
    }


def _share(share: Share) -> Json:
    return {
        "outcome": share.outcome.value,
        "orders": [{"group": each.group, "nodes": each.count} for each in share.orders],
        "pods_started": share.started,
        "why": share.why,
    }


def _side(side: Side) -> Json:
    return {
        "new_nodes": side.nodes,
        "cost": float(side.cost),
        "waiting": side.waiting,
        "pods_started": side.pods,
        "stranded_nodes": side.stranded,
        "stranded_cost": float(side.stranded_cost),
        "idle_node_hours": float(side.idle_hours),
    }


def print_evaluation(found: Evaluation, *, only_needed: bool) -> None:
    """For people, in 80 columns."""
    print_table(
        ("COMPONENT", "VERSION", "WHERE"),
        [(each.part, str(each.version or "unknown"), each.where.object) for each in found.components],
        empty="neither kube-scheduler nor an autoscaler nor Kueue is in the input",
    )
    served = ", ".join(f"{each.group}/{each.version}" for each in found.served)
    _say(f"served, as far as seen: {served or 'nothing of DRA, gangs or autoscaling'}")
    off = [each.name for each in found.gates if each.state is State.OFF]
    unknown = sum(1 for each in found.gates if each.state is State.UNKNOWN)
    _say(f"gates that are off: {', '.join(off) or 'none that is known'}" + (f"; {unknown} unknown" if unknown else ""))
    stdout.print()
    shown = [row for row in found.capabilities if row.capability in found.needed or not only_needed]
    ordered = sorted(shown, key=lambda row: row.capability not in found.needed)
    print_table(
        ("HAS", "NEEDED", "CAPABILITY", "WHY, AND WHERE IT WAS READ"),
        [
            (
                row.level.word,
                "yes" if row.capability in found.needed else "-",
                row.capability,
                _reason(row, found.components),
            )
            for row in ordered
        ],
        empty="the pending work needs none of the capabilities that are judged",
    )
    stdout.print()
    if found.comparison.rows:
        print_table(
            ("WORK", "PODS", "POD BY POD", "MUSTER"),
            [
                (row.work.subject, str(row.work.pods), _words(row.pod_by_pod), _words(row.muster))
                for row in found.comparison.rows
            ],
            empty="",
        )
        for row in found.comparison.rows:
            ours, theirs = row.muster.why, row.pod_by_pod.why
            if theirs:
                _say(f"{row.work.subject}: pod by pod: {theirs}")
            if ours and ours != theirs:
                _say(f"{row.work.subject}: Muster: {ours}")
        stdout.print()
        one, other = found.comparison.pod_by_pod, found.comparison.muster
        print_table(("", "POD BY POD", "MUSTER"), list(_totals(one, other)), empty="")
    else:
        _say("nothing is pending: every capability that a gang may need counts as needed")
    for each in found.pending.unread:
        _say(f"not compared: {each.subject}: {each.why}")
    stdout.print()
    for each in found.assumptions:
        _say(f"assumed: {each}")
    stdout.print()
    _say(_verdict(found))


def _reason(row: CapabilityRow, components: Sequence[Component]) -> str:
    """The component itself is in a table of its own."""
    best = row.verdicts[0]
    listed = {str(each.where) for each in components}
    fields = [each for each in best.read_from if each not in listed]
    read = f" ({', '.join(fields)})" if fields else ""
    return f"{best.part}: {best.why}{read}"


def _words(share: Share) -> str:
    bought = ", ".join(f"{each.count} {each.group}" for each in share.orders)
    return f"{share.outcome}, buys {bought}" if bought else share.outcome.value


def _totals(one: Side, other: Side) -> Iterator[tuple[str, str, str]]:
    yield "new nodes", str(one.nodes), str(other.nodes)
    yield "cost", f"{float(one.cost):g}", f"{float(other.cost):g}"
    yield "nodes that serve nobody", str(one.stranded), str(other.stranded)
    yield "cost of these", f"{float(one.stranded_cost):g}", f"{float(other.stranded_cost):g}"
    yield "idle node-hours a round", f"{float(one.idle_hours):.3g}", f"{float(other.idle_hours):.3g}"
    yield "work that waits", str(one.waiting), str(other.waiting)
    yield "pods that start", str(one.pods), str(other.pods)


def _verdict(found: Evaluation) -> str:
    if found.fit:
        return "fit: what the pending work needs is there, and pod by pod serves it as well as a plan"
    parts: list[str] = []
    if found.missing:
        parts.append("missing " + ", ".join(row.capability for row in found.missing))
    if not found.comparison.as_good:
        parts.append("pod by pod does worse on the pending work")
    return f"not fit: {'; '.join(parts)}"


def _say(line: str) -> None:
    stdout.print(line, markup=False)
