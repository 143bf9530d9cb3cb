"""Audits of small clusters, and their parts."""

from collections.abc import Sequence

from muster_audit import Cluster, Dump, Finding, Report, Row, audit
from muster_audit.audit import prepare
from muster_audit.pod_classes import PodClass
from muster_audit.scene import Scene
from support.cluster_objects import Json


def audited(*objects: Json, then: Sequence[Sequence[Json]] = ()) -> Report:
    """The verdicts on a cluster, and with `then` on its later dumps."""
    return audit([Dump(objects), *(Dump(tuple(each)) for each in then)])


def row_of(name: str, *objects: Json, then: Sequence[Sequence[Json]] = ()) -> Row:
    """The row of the subject whose last name this is; of its kind where the name has one."""
    return pick(audited(*objects, then=then), name)


def pick(report: Report, name: str) -> Row:
    kinds = ("Pod", "PodGroup", "ProvisioningRequest", "NodeGroup", "Node")
    for kind in kinds:
        for row in report.rows:
            if row.subject == name or row.subject in (f"{kind}/team-a/{name}", f"{kind}/{name}"):
                return row
    raise AssertionError(f"no row for {name} among {[row.subject for row in report.rows]}")


def word_of(name: str, *objects: Json) -> str:
    """Verdict, and the reason where there is one."""
    row = row_of(name, *objects)
    return f"{row.verdict} {row.reason}".strip()


def found(kind: str, *objects: Json) -> list[Finding]:
    """Findings of one kind."""
    return [each for each in audited(*objects).findings if each.kind == kind]


def scene_of(*objects: Json) -> tuple[Scene, tuple[PodClass, ...]]:
    """All that verdicts share, and the classes of pending pods."""
    return prepare(Cluster.from_dumps([Dump(objects)]))
