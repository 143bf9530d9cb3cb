"""The path that edits no pod: device classes that serve the integers (KEP-5004, dra-semantics §5.2).

On a node whose device plugin still offers the integer the scheduler takes that; on all others it claims devices through
the class. What a claim says with selectors, such a class must say for everybody.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from muster_dra import ClaimSpec, ContainerRequests, DeviceClass, extended_resource_claim, parse_class
from muster_migrate.catalogue import Query
from muster_migrate.containers import Container, read_containers
from muster_migrate.edits import Json, Path, mapping_at, shown
from muster_migrate.evidence import Evidence
from muster_migrate.kinds import PodPlace, embedded, pod_places
from muster_migrate.naming import label
from muster_migrate.needs import Role
from muster_migrate.objects import Migration, ObjectMigration, integers, subject_of
from muster_migrate.pods import PodMigration, malformed, resolved
from muster_migrate.remarks import Cause, Remark, Saying
from muster_migrate.writing import device_class
from muster_types import NANO, Nano


def migrate_extended(documents: Iterable[Json], evidence: Evidence) -> Migration:
    """Classes for every integer resource of the documents, which stay as they are; reasons where there is none."""
    served: dict[str, Query] = {}
    objects: list[ObjectMigration] = []
    for document in documents:
        pods: list[PodMigration] = []
        remarks: list[Remark] = []
        for obj, path in _objects(document):
            _one(obj, path, evidence, served, pods, remarks)
        objects.append(ObjectMigration(subject_of(document), document, (), (), tuple(remarks), tuple(pods)))
    classes, said = _classes(served, evidence)
    if said:
        objects.append(ObjectMigration("DeviceClass", {}, (), (), tuple(said), ()))
    return Migration(tuple(objects), classes, extended=True)


def pod_claim(pod: PodMigration, classes: Mapping[str, DeviceClass]) -> tuple[ClaimSpec, ...]:
    """The claim that the scheduler makes for the pod in memory, where a node has none of these integers."""
    containers, _ = read_containers({"spec": pod.old.get("spec")}, ("spec",), pod.subject)
    asked = [
        ContainerRequests(
            each.name,
            {name: Nano(count * NANO) for name, count in each.counts.items()},
            each.role is not Role.APP,
            each.role is Role.SIDECAR,
        )
        for each in containers
    ]
    by_resource = {each.extended_resource_name: each for each in classes.values() if each.extended_resource_name}
    found = extended_resource_claim(
        pod.namespace, asked, {name: by_resource[name] for name in pod.queries if name in by_resource}
    )
    return () if found is None else (found.claim.spec,)


def _objects(document: Json) -> list[tuple[Json, Path]]:
    inner = embedded(document)
    return [(mapping_at(document, path), path) for path, _ in inner] if inner else [(document, ())]


def _one(
    obj: Json,
    path: Path,
    evidence: Evidence,
    served: dict[str, Query],
    pods: list[PodMigration],
    remarks: list[Remark],
) -> None:
    subject = subject_of(obj)
    places = pod_places(obj)
    if not places:
        # Here no field for claims is needed: a kind that only has integers is served all the same.
        for where in integers(obj):
            found = evidence.query(str(where[-1]))
            if isinstance(found, Query):
                served.setdefault(str(where[-1]), found)
        return
    for place in places:
        fault = malformed(obj, place, subject)
        if fault is not None:
            remarks.append(fault)
            continue
        containers, faults = read_containers(obj, place.spec, subject)
        queries, blocked = resolved(obj, place, subject, containers, evidence)
        remarks += [*faults, *blocked]
        kept = {name: query for name, query in queries.items() if _servable(name, query, subject, containers, remarks)}
        for name, query in kept.items():
            served.setdefault(name, query)
        old = mapping_at(obj, place.path)
        namespace = str(mapping_at(obj, ("metadata",)).get("namespace") or "default")
        pods.append(PodMigration(subject, namespace, _placed(place, path), old, old, queries=kept, meant=kept))


def _placed(place: PodPlace, path: Path) -> PodPlace:
    return PodPlace((*path, *place.path), place.role, place.ray)


def _servable(
    resource: str, query: Query, subject: str, containers: Sequence[Container], remarks: list[Remark]
) -> bool:
    if resource == "nvidia.com/gpu" and query.noun == "mig":
        first = next(each for each in containers if each.counts.get(resource))
        remarks.append(
            Remark(
                subject,
                Saying.NO_EQUIVALENT,
                Cause.PARTITION_UNKNOWN,
                shown((*first.path, "resources", "limits", resource)),
                "with MIG strategy single the resource counts partitions on some nodes and GPUs on others; one class "
                "can't serve both",
                "rename the resource to nvidia.com/mig-<profile>, or migrate this object to claims",
            )
        )
        return False
    return True


def _classes(served: Mapping[str, Query], evidence: Evidence) -> tuple[tuple[Json, ...], list[Remark]]:
    written: list[Json] = []
    said: list[Remark] = []
    for resource, query in sorted(served.items()):
        own = evidence.by_resource.get(resource)
        if own is not None:
            text = f"DeviceClass {own.name} of the dump serves {resource} already"
            said.append(Remark(f"DeviceClass/{own.name}", Saying.NOTE, Cause.DEVICE_CLASS, "", text))
            continue
        prefix, _, suffix = resource.partition("/")
        name = query.device_class if not query.selectors else f"{label(suffix.replace('.', '-'))}.{prefix}"
        known = evidence.classes.get(query.device_class)
        base, config = query, list[Json]()
        if known is not None:
            base = replace(query, class_selectors=tuple(each for each in known.selectors if each is not None))
            config = [each.json for each in known.config]
        written.append(device_class(base, resource, name, config))
        text = f"class {name} serves {resource}: {query.why}"
        said.append(
            Remark(f"DeviceClass/{name}", Saying.CHANGED, Cause.DEVICE_CLASS, "spec.extendedResourceName", text)
        )
    return tuple(written), said


def read_classes(objects: Iterable[Json]) -> dict[str, DeviceClass]:
    """Written classes as the engine knows them."""
    return {each.name: each for each in map(parse_class, objects)}
