"""A run over many objects: the plan for each, what is added, and what is said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from muster_migrate.catalogue import NoEquivalent, Query, documented
from muster_migrate.containers import is_extended
from muster_migrate.edits import Cut, Edit, Json, Path, Put, apply_edits, at, items_at, mapping_at, shown
from muster_migrate.evidence import Evidence
from muster_migrate.kinds import POD_PLACES, WITHOUT_CLAIMS, embedded, group_kind, pod_places
from muster_migrate.naming import Names
from muster_migrate.pods import PodMigration, malformed, migrate_pod, untouchable
from muster_migrate.remarks import Cause, Remark, Saying
from muster_migrate.writing import API, claim_template, device_class

_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class ObjectMigration:
    """One document: `edits` change it, `before` are objects to write in front of it. `result` is it afterwards."""

    subject: str
    obj: Json
    edits: tuple[Edit, ...]
    before: tuple[Json, ...]
    remarks: tuple[Remark, ...]
    pods: tuple[PodMigration, ...]

    @property
    def result(self) -> dict[str, object]:
        """The document in its new form."""
        return apply_edits(self.obj, self.edits)

    @property
    def queries(self) -> Mapping[str, Query]:
        """Devices by resource of all its pods."""
        return {name: query for pod in self.pods for name, query in pod.queries.items()}


@dataclass(frozen=True, slots=True)
class Migration:
    """All documents in order. `classes` are DeviceClasses to write once. `extended`: those alone do it (KEP-5004)."""

    objects: tuple[ObjectMigration, ...]
    classes: tuple[Json, ...] = ()
    extended: bool = False

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Everything that was said, in order."""
        return tuple(remark for each in self.objects for remark in each.remarks)

    def says(self, saying: Saying) -> bool:
        """Whether anything of this sort was said."""
        return any(remark.saying is saying for remark in self.remarks)


@dataclass(slots=True)
class _Gathered:
    edits: list[Edit] = field(default_factory=list[Edit])
    before: list[Json] = field(default_factory=list[Json])
    remarks: list[Remark] = field(default_factory=list[Remark])
    pods: list[PodMigration] = field(default_factory=list[PodMigration])


def migrate_objects(documents: Iterable[Json], evidence: Evidence, *, classes: bool = False) -> Migration:
    """The new form of every document. `classes`: also write the DeviceClasses that the claims name and none shows."""
    found = list(documents)
    names = Names()
    for document in found:
        _take_names(document, names)
    migrated = tuple(_migrate(document, names, evidence) for document in found)
    return Migration(migrated, _missing_classes(migrated, found, evidence) if classes else ())


def subject_of(obj: Json) -> str:
    """`Kind/namespace/name`; `Kind/name` where no namespace is written."""
    metadata = mapping_at(obj, ("metadata",))
    parts = (obj.get("kind"), metadata.get("namespace"), metadata.get("name", metadata.get("generateName", "")))
    return "/".join(str(part) for part in parts if part) or "document"


def _take_names(document: Json, names: Names) -> None:
    for path, _ in embedded(document):
        _take_names(mapping_at(document, path), names)
    if document.get("kind") == "ResourceClaimTemplate":
        metadata = mapping_at(document, ("metadata",))
        names.take_template(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))


def _migrate(document: Json, names: Names, evidence: Evidence) -> ObjectMigration:
    inner = embedded(document)
    if not inner:
        gathered = _one(document, (), names, evidence)
    else:
        gathered = _Gathered()
        added: dict[Path, list[object]] = {}
        wrapped = document.get("kind") == "AppWrapper"
        for path, neighbours in inner:
            each = _one(mapping_at(document, path), path, names, evidence)
            gathered.edits += each.edits
            gathered.remarks += each.remarks
            gathered.pods += each.pods
            added.setdefault(neighbours, []).extend({"template": new} if wrapped else new for new in each.before)
        for where, new in added.items():
            start = len(items_at(document, where))
            gathered.edits += [Put((*where, start + offset), each) for offset, each in enumerate(new)]
    return ObjectMigration(
        subject_of(document),
        document,
        tuple(gathered.edits),
        tuple(gathered.before),
        tuple(gathered.remarks),
        tuple(gathered.pods),
    )


def _one(obj: Json, path: Path, names: Names, evidence: Evidence) -> _Gathered:
    """One object; its edits are moved to where it stands in its document."""
    found = _Gathered()
    subject = subject_of(obj)
    places = pod_places(obj)
    kind = group_kind(obj)
    if not places:
        found.remarks += _others(obj, subject)
        return found
    left = untouchable(obj, subject)
    if left is not None:
        if any(integers(obj)):
            found.remarks.append(left)
        return found
    namespace = mapping_at(obj, ("metadata",)).get("namespace")
    queue = mapping_at(obj, ("metadata", "labels")).get("kueue.x-k8s.io/queue-name")
    for place in places:
        fault = malformed(obj, place, subject)
        if fault is not None:
            found.remarks.append(fault)
            continue
        pod = migrate_pod(obj, place, subject, names, evidence)
        found.pods.append(pod)
        found.remarks += pod.remarks
        found.edits += [_moved(edit, path) for edit in pod.edits]
        found.before += [claim_template(plan, namespace if isinstance(namespace, str) else None) for plan in pod.claims]
        if queue is not None and pod.claims:
            text = f"queue {queue} admits by quota, and Kueue counts claims only of classes that its configuration maps"
            remedy = "map them there (deviceClassMappings) and give the ClusterQueue quota for the mapped name"
            path_of_label = shown(("metadata", "labels", "kueue.x-k8s.io/queue-name"))
            found.remarks.append(Remark(subject, Saying.NOTE, Cause.QUOTA, path_of_label, text, remedy))
            queue = None  # once for an object
        if kind == ("trainer.kubeflow.org", "ClusterTrainingRuntime") and pod.claims:
            text = "a ClusterTrainingRuntime has no namespace, a ResourceClaimTemplate has one"
            remedy = "create the template in every namespace that runs a TrainJob of it"
            found.remarks.append(Remark(subject, Saying.NOTE, Cause.CLAIM, shown(place.path), text, remedy))
    return found


def _moved(edit: Edit, path: Path) -> Edit:
    return Put((*path, *edit.path), edit.value) if isinstance(edit, Put) else Cut((*path, *edit.path))


def _others(obj: Json, subject: str) -> list[Remark]:
    """Objects without pods of their own that speak of integer devices all the same."""
    kind = group_kind(obj)
    found: list[Remark] = []
    deaf = WITHOUT_CLAIMS.get(kind)
    if deaf is not None:
        for pattern in deaf.places:
            path = tuple(pattern.split("."))
            if any(integers(at(obj, path), path)) or isinstance(mapping_at(obj, path).get("quantity"), int):
                text = f"{kind[1]} has no field for claims: its integers stay"
                found.append(
                    Remark(subject, Saying.NO_EQUIVALENT, Cause.NO_CLAIMS_IN_KIND, shown(path), text, deaf.remedy)
                )
        return found
    if kind == ("", "ResourceQuota"):
        for name in mapping_at(obj, ("spec", "hard")):
            query = documented(name.removeprefix("requests."))
            if isinstance(query, Query):
                text = f"{name} does not count claims: what is migrated escapes this quota"
                remedy = f"limit {query.device_class}.deviceclass.resource.k8s.io/devices as well"
                path = shown(("spec", "hard", name))
                found.append(Remark(subject, Saying.NOTE, Cause.QUOTA, path, text, remedy))
        return found
    if kind in _COUNTING:
        for path in integers(obj):
            text = f"{path[-1]} counts integers here, and no claim: what is migrated escapes it"
            found.append(Remark(subject, Saying.NOTE, Cause.QUOTA, shown(path), text, "limit devices as well"))
        return found
    if kind in POD_PLACES or kind in _SILENT or kind[0] == "resource.k8s.io":
        return found
    for path in integers(obj):
        text = f"nobody here knows where kind {kind[1] or 'of this object'} keeps pods: {path[-1]} stays"
        remedy = "migrate the pod template by hand, or use --extended-resource"
        found.append(Remark(subject, Saying.NO_EQUIVALENT, Cause.UNKNOWN_KIND, shown(path), text, remedy))
    return found


_COUNTING = (("", "LimitRange"), ("karpenter.sh", "NodePool"))
_SILENT = (
    ("", "Node"),
    ("", "Event"),
    ("muster.dev", "NodeGroup"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
)


def integers(value: object, path: Path = ()) -> Iterable[Path]:
    """Paths of keys that are documented device resources, anywhere in an object."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, inner in cast("Json", value).items():
            known = documented(key)
            if isinstance(known, Query | NoEquivalent) and is_extended(key) and not isinstance(inner, Mapping | list):
                yield (*path, key)
            else:
                yield from integers(inner, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            yield from integers(inner, (*path, index))


def _missing_classes(
    migrated: Sequence[ObjectMigration], documents: Sequence[Json], evidence: Evidence
) -> tuple[Json, ...]:
    written = {
        str(mapping_at(each, ("metadata",)).get("name"))
        for each in documents
        if str(each.get("apiVersion")).startswith(API.partition("/")[0]) and each.get("kind") == "DeviceClass"
    }
    wanted = {query.device_class: query for each in migrated for query in each.queries.values()}
    return tuple(
        device_class(query)
        for name, query in sorted(wanted.items())
        if name not in evidence.classes and name not in written
    )
