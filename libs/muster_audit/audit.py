"""One audit: a cluster in, rows and findings out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from muster_audit.bare_groups import bare_rows
from muster_audit.bound import bound_rows
from muster_audit.cluster import Cluster
from muster_audit.findings import findings_of
from muster_audit.frames import Dump, frames_of
from muster_audit.gang_verdicts import GangJudge, GangJudgement
from muster_audit.gangs import Subject, is_gang_member, linked, pod_group_subjects, request_subjects
from muster_audit.group_rows import Demand, group_rows
from muster_audit.idle import node_rows, uses_of
from muster_audit.pod_classes import PodClass, pending_classes, templates_of
from muster_audit.pods import judge_pods
from muster_audit.rows import Finding, Row
from muster_audit.scene import Scene
from muster_audit.words import Word
from muster_dra import Features
from muster_plan.booked_devices import devices_of

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_BAD = frozenset({Word.INFEASIBLE, Word.UNSAFE, Word.SELECTOR_ERROR, Word.NO_SCALE_UP, Word.FAILED})


@dataclass(frozen=True, slots=True)
class Report:
    """`rows` by subject: pending pods, gangs and requests, node groups, nodes, bound pods, objects with findings."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    @property
    def all_fit(self) -> bool:
        """Whether everything that is pending fits now or with more nodes."""
        return not any(row.verdict in _BAD for row in self.rows)

    def to_json(self) -> list[dict[str, object]]:
        """Rows, then findings."""
        return [*(row.to_json() for row in self.rows), *(finding.to_json() for finding in self.findings)]


def audit(dumps: Sequence[Dump], *, features: Features | None = None, progress: Progress | None = None) -> Report:
    """Verdicts at the last moment of the dumps; earlier dumps and steps are remembered."""
    tell = progress or _silent
    tell("reading", 0, 1)
    return audit_cluster(Cluster.from_dumps(dumps, features=features), progress=progress)


def audit_steps(
    dumps: Sequence[Dump], *, features: Features | None = None, progress: Progress | None = None
) -> list[tuple[str, Report]]:
    """A report after each dump and step, with the label of the moment."""
    frames = frames_of(dumps)
    return [
        (frame.label, audit_cluster(Cluster.at(frames[: place + 1], features=features), progress=progress))
        for place, frame in enumerate(frames)
    ]


def audit_cluster(cluster: Cluster, *, progress: Progress | None = None) -> Report:
    """The verdicts on one moment of a cluster."""
    tell = progress or _silent
    scene, classes = prepare(cluster)
    rows: list[Row] = []
    demand = Demand()
    singles = [each for each in classes if not is_gang_member(each, scene.cluster)]
    requests = request_subjects(classes, scene.cluster)
    groups = linked(pod_group_subjects(classes, scene.cluster), requests)
    total = len(singles) + len(groups) + len(requests)
    done = 0

    def note(judged: GangJudgement) -> None:
        rows.append(judged.row)
        rows.extend(judged.members)
        for name, nodes in judged.orders:
            demand.order(name, nodes)
        demand.ask(judged.growths, (judged.row,))

    def promise(judged: GangJudgement) -> None:
        if judged.booking is not None:
            for member in judged.booking.pods:
                scene.promises.allocated = scene.promises.allocated.plus(
                    devices_of(member.claims), f"{judged.row.subject} (pending)"
                )

    repairs = [each for each in groups if isinstance(each, Subject) and each.repairs]
    first = GangJudge(scene)
    judged = [first.judge(each) for each in repairs]
    for each in judged:
        note(each)
    scene = scene.holding(
        [each.booking for each in judged if each.booking is not None],
        [each.hold for each in judged if each.hold is not None],
    )
    gangs = GangJudge(scene)
    for each in judged:
        promise(each)
    for subject in (*(each for each in groups if each not in repairs), *requests):
        tell("gangs and requests", done, total)
        verdict = gangs.judge(subject)
        note(verdict)
        if isinstance(subject, Subject) and not subject.only_checks:
            promise(verdict)
        done += 1
    for pods in singles:
        tell("pods", done, total)
        found = judge_pods(pods, scene)
        rows += found.rows
        for name, share in found.shares:
            demand.share(name, share)
        demand.ask((found.growth,) if found.growth is not None else (), found.rows)
        done += 1
    tell("findings", total, total)
    findings = findings_of(scene)
    uses = uses_of(scene)
    rows += bare_rows(classes, scene)
    rows += group_rows(demand, uses, scene)
    rows += bound_rows(scene)
    rows += node_rows(uses)
    return Report(tuple(sorted(_with_findings(rows, findings), key=_order)), findings)


def prepare(cluster: Cluster) -> tuple[Scene, tuple[PodClass, ...]]:
    """The scene of an audit, with a template for each class of pending pods in its snapshot."""
    classes = pending_classes(cluster)
    ready = cluster.with_snapshot(cluster.snapshot.apply(templates_of(classes, cluster)))
    return Scene.of(ready), classes


def _with_findings(rows: Sequence[Row], findings: Sequence[Finding]) -> list[Row]:
    """Objects that a finding is about have a row that says so; a verdict on what is pending stays as it is."""
    found = {row.subject: row for row in rows}
    for each in findings:
        if not each.about_object:
            continue
        known = found.get(each.object)
        if known is None:
            word = Word.INVALID_INPUT if each.kind == "invalid-object" else Word.FINDING
            found[each.object] = Row(each.object, word, each.kind, why=each.why, remedy=each.remedy)
        elif known.verdict in (Word.IDLE, Word.USAGE):
            found[each.object] = replace(
                known, verdict=Word.FINDING, reason=each.kind, why=f"{each.why}; {known.why}", remedy=each.remedy
            )
    return list(found.values())


_KINDS = ("Pod", "PodGroup", "ProvisioningRequest", "NodeGroup", "Node")


def _order(row: Row) -> tuple[int, str]:
    kind = row.subject.split("/", 1)[0]
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS), row.subject)


def _silent(_what: str, _done: int, _total: int) -> None:
    return
