"""One pod: its integers become claims, conditions on product labels become selectors, each change with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster_dra import InvalidObject
from muster_migrate.catalogue import NoEquivalent, Query, mig_query
from muster_migrate.containers import Container, read_containers
from muster_migrate.edits import Edit, Json, apply_edits, items_at, mapping_at, shown
from muster_migrate.evidence import Evidence
from muster_migrate.kinds import PodPlace
from muster_migrate.naming import Names
from muster_migrate.needs import Role, lines_for
from muster_migrate.placement import narrow, required_conditions
from muster_migrate.remarks import Cause, Remark, Saying
from muster_migrate.selectors import asks_for_shares, partition_asked
from muster_migrate.sharing import shares_only
from muster_migrate.surroundings import surroundings
from muster_migrate.writing import ClaimPlan, claim_plans, container_edits, pod_edits
from muster_plan import parse_pod_template

NETWORKS = "k8s.v1.cni.cncf.io/networks"


@dataclass(frozen=True, slots=True)
class PodMigration:
    """One pod of an object: its edits, and the claims that new templates must give it.

    `queries` are what the claims ask for in place of each resource, `meant` the same before conditions of the pod
    narrowed it. `old` and `new` hold metadata and spec of the pod.
    """

    subject: str
    namespace: str
    place: PodPlace
    old: Json
    new: Json
    edits: tuple[Edit, ...] = ()
    claims: tuple[ClaimPlan, ...] = ()
    remarks: tuple[Remark, ...] = ()
    queries: Mapping[str, Query] = field(default_factory=dict[str, Query])
    meant: Mapping[str, Query] = field(default_factory=dict[str, Query])

    @property
    def changes(self) -> bool:
        """Whether anything becomes different."""
        return bool(self.edits)


def resolved(
    obj: Json, place: PodPlace, subject: str, containers: Sequence[Container], evidence: Evidence
) -> tuple[dict[str, Query], list[Remark]]:
    """The devices behind each resource of a pod, and a remark for each that has no equivalent."""
    asked = sorted({name for each in containers for name, count in each.counts.items() if count > 0})
    faulty = {name for each in containers for name in each.faulty}
    queries: dict[str, Query] = {}
    remarks: list[Remark] = []
    for resource in asked:
        if resource in faulty:
            continue
        found = _resolved(obj, place, subject, resource, evidence)
        if isinstance(found, Query):
            queries[resource] = found
            continue
        for each in containers:
            if each.counts.get(resource, 0) > 0:
                path = shown((*each.path, "resources", "limits", resource))
                remarks.append(
                    Remark(
                        subject,
                        Saying.NO_EQUIVALENT,
                        found.cause,
                        path,
                        f"{resource}: {each.counts[resource]} stays: {found.why}",
                        found.remedy,
                    )
                )
    return queries, remarks


def _resolved(obj: Json, place: PodPlace, subject: str, resource: str, evidence: Evidence) -> Query | NoEquivalent:
    query = evidence.query(resource)
    if isinstance(query, NoEquivalent):
        return query
    if query.noun == "nic" and NETWORKS in mapping_at(obj, (*place.path, "metadata", "annotations")):
        return NoEquivalent(
            Cause.NETWORK_ATTACHMENT,
            f"annotation {NETWORKS} attaches what the device plugin gave to the pod; of a claimed function the driver "
            "configures the network itself, from parameters that stand in the attachment definition",
            "write the claim with the driver's config by hand, and take the annotation away",
        )
    conditions = [each.condition for each in required_conditions(obj, place.spec)]
    if resource == "nvidia.com/gpu":
        profiles = {profile for each in conditions if (profile := partition_asked(each)) is not None}
        if len(profiles) == 1:
            query = mig_query(profiles.pop())
        elif any(each.key == "nvidia.com/mig.strategy" and each.values == ("single",) for each in conditions):
            return NoEquivalent(
                Cause.PARTITION_UNKNOWN,
                "with MIG strategy single the resource counts partitions, and the pod does not say of which profile",
                "name it: nvidia.com/mig-<profile>, or nvidia.com/gpu.product with its -MIG-<profile> ending",
            )
    for condition in conditions:
        if asks_for_shares(condition) and query.noun in ("gpu", "mig"):
            return NoEquivalent(
                Cause.SHARED,
                f"{condition} asks for GPUs that are sold several times over; a claim takes a whole device, and "
                "nothing says how much a share was meant to have",
                "decide: whole GPUs (take the condition away), MIG devices, or a claim with a sharing config of the "
                "driver that several containers use",
            )
    return shares_only(obj, place, resource, query, evidence) or query


def migrate_pod(obj: Json, place: PodPlace, subject: str, names: Names, evidence: Evidence) -> PodMigration:
    """Plan the new form of one pod. Whatever has no equivalent stays as it is and is named."""
    containers, remarks = read_containers(obj, place.spec, subject)
    queries, blocked = resolved(obj, place, subject, containers, evidence)
    said = [*remarks, *blocked]
    namespace, old = str(mapping_at(obj, ("metadata",)).get("namespace") or "default"), mapping_at(obj, place.path)
    zeros = _zeros(containers, queries)
    if not queries and not zeros:
        return PodMigration(subject, namespace, place, old, old, remarks=tuple(said))
    narrowing = narrow(obj, place.spec, subject, queries, evidence)
    final = narrowing.queries
    lines = [line for resource in final for line in lines_for([each.asking for each in containers], resource)]
    plans = claim_plans(obj, place, containers, lines, final, names)
    gone = {index: frozenset({*final, *zeros.get(index, ())}) for index in range(len(containers))}
    edits: list[Edit] = list(narrowing.edits)
    for index, container in enumerate(containers):
        edits += container_edits(obj, container, index, gone[index], plans)
    edits += pod_edits(obj, place.spec, plans)
    around, extra = surroundings(obj, place, subject, containers, final, evidence)
    edits += around
    said += _explained(subject, place, containers, final, plans, zeros)
    new = mapping_at(apply_edits(obj, edits), place.path)
    remarks = (*said, *narrowing.remarks, *extra)
    return PodMigration(subject, namespace, place, old, new, tuple(edits), plans, remarks, final, queries)


def _zeros(containers: Sequence[Container], queries: Mapping[str, Query]) -> dict[int, frozenset[str]]:
    """Requests for zero devices, by container; those of resources that become claims are taken out with them."""
    found: dict[int, frozenset[str]] = {}
    for index, each in enumerate(containers):
        names = {name for name, count in each.counts.items() if count == 0 and name in queries}
        if names:
            found[index] = frozenset(names)
    return found


def _explained(
    subject: str,
    place: PodPlace,
    containers: Sequence[Container],
    queries: Mapping[str, Query],
    plans: Sequence[ClaimPlan],
    zeros: Mapping[int, frozenset[str]],
) -> list[Remark]:
    found: list[Remark] = []
    for index, container in enumerate(containers):
        for resource, query in queries.items():
            count = container.counts.get(resource, 0)
            path = shown((*container.path, "resources", "limits", resource))
            if count > 0:
                where = ", ".join(
                    f"{plan.entry}/{request.name}"
                    for plan in plans
                    for request in plan.requests
                    if request.line.resource == resource and index in request.line.users
                )
                sharing = ""
                if container.role is Role.INIT:
                    sharing = "; as an init container it uses what later containers have"
                text = f"{resource}: {count} became {where} of class {query.device_class} ({query.why}){sharing}"
                found.append(Remark(subject, Saying.CHANGED, Cause.CLAIM, path, text))
            elif resource in zeros.get(index, frozenset()):
                found.append(Remark(subject, Saying.CHANGED, Cause.ZERO, path, "0 went: it asked for nothing"))
    return found


def malformed(obj: Json, place: PodPlace, subject: str) -> Remark | None:
    """What of a pod the API server would refuse, so that nothing can be said about its meaning."""
    try:
        parse_pod_template(
            {
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": {"name": "pod", "namespace": "default"},
                "template": mapping_at(obj, place.path),
            }
        )
    except InvalidObject as fault:
        inner = fault.field.removeprefix("template").removeprefix(".")
        path = ".".join(part for part in (shown(place.path), inner) if part)
        return Remark(subject, Saying.INVALID, Cause.MALFORMED, path, fault.reason, "mend it first")
    return None


def untouchable(obj: Json, subject: str) -> Remark | None:
    """Why an object is left alone although it may ask for devices: another object makes it, or it runs."""
    metadata = mapping_at(obj, ("metadata",))
    for owner in items_at(metadata, ("ownerReferences",)):
        fields = mapping_at(owner, ())
        if fields.get("controller") is True:
            made = f"{fields.get('kind')} {fields.get('name')}"
            return Remark(subject, Saying.NOTE, Cause.OWNED, "", f"it is left alone: {made} makes it", "migrate that")
    if obj.get("kind") == "Pod" and mapping_at(obj, ("spec",)).get("nodeName"):
        text = f"it is left alone: it runs on {mapping_at(obj, ('spec',))['nodeName']}, and a pod's resources are fixed"
        return Remark(subject, Saying.NOTE, Cause.RUNNING, "spec.nodeName", text, "delete it and create it anew")
    return None
