"""What else changes its meaning when a pod's integers go: tolerations, Ray's GPU count, environment, schedulers."""

from collections.abc import Mapping, Sequence

from muster_migrate.catalogue import Query
from muster_migrate.containers import Container
from muster_migrate.edits import Edit, Json, Put, items_at, mapping_at, shown
from muster_migrate.evidence import Evidence
from muster_migrate.kinds import PodPlace
from muster_migrate.needs import Role
from muster_migrate.remarks import Cause, Remark, Saying

_OWN_SCHEDULERS = ("", "default-scheduler")


def surroundings(
    obj: Json,
    place: PodPlace,
    subject: str,
    containers: Sequence[Container],
    queries: Mapping[str, Query],
    evidence: Evidence,
) -> tuple[list[Edit], list[Remark]]:
    """Edits and remarks around the claims of one pod."""
    edits: list[Edit] = []
    remarks: list[Remark] = []
    _tolerations(obj, place, subject, queries, evidence, edits, remarks)
    _ray(obj, place, subject, containers, queries, edits, remarks)
    spec = mapping_at(obj, place.spec)
    scheduler = spec.get("schedulerName", "")
    if scheduler not in _OWN_SCHEDULERS:
        text = f"scheduler {scheduler} must allocate claims; before, it had only to count integers"
        path = shown((*place.spec, "schedulerName"))
        remarks.append(Remark(subject, Saying.NOTE, Cause.SCHEDULER, path, text, "check its support for DRA"))
    for container in containers:
        for index, item in enumerate(items_at(obj, (*container.path, "env"))):
            if mapping_at(item, ()).get("name") == "NVIDIA_VISIBLE_DEVICES":
                text = "NVIDIA_VISIBLE_DEVICES can show a container devices that it has not claimed"
                path = shown((*container.path, "env", index))
                remedy = "take it away unless it says void or none"
                remarks.append(Remark(subject, Saying.NOTE, Cause.VISIBLE_DEVICES, path, text, remedy))
    for query in sorted({query.device_class: query for query in queries.values()}.items()):
        if evidence.given and query[0] not in evidence.classes:
            text = f"the dump has no DeviceClass {query[0]}"
            remedy = "install the driver, or write the class with --device-classes"
            remarks.append(Remark(subject, Saying.NOTE, Cause.CLASS_MISSING, "", text, remedy))
    return edits, remarks


def _tolerations(
    obj: Json,
    place: PodPlace,
    subject: str,
    queries: Mapping[str, Query],
    evidence: Evidence,
    edits: list[Edit],
    remarks: list[Remark],
) -> None:
    """Plugin ExtendedResourceToleration tolerates taints that are named as a requested resource; claims get nothing."""
    known = items_at(obj, (*place.spec, "tolerations"))
    new: list[dict[str, object]] = []
    for resource in sorted(queries):
        tainted = [node for node in evidence.nodes if any(t.key == resource and t.blocks for t in node.taints)]
        if not tainted or any(_tolerates(each, resource) for each in known):
            continue
        path = shown((*place.spec, "tolerations"))
        if not _added_by_server(resource, evidence):
            text = (
                f"{len(tainted)} nodes, {tainted[0].name} among them, have a taint {resource}, and the pod tolerates "
                "it only if the API server adds that for the integer (plugin ExtendedResourceToleration)"
            )
            remedy = f"if the cluster has that plugin, add a toleration for {resource}"
            remarks.append(Remark(subject, Saying.NOTE, Cause.TOLERATION, path, text, remedy))
            continue
        new.append({"key": resource, "operator": "Exists", "effect": "NoSchedule"})
        text = f"tolerates {resource}: for the integer the API server added it, for a claim it adds none"
        remarks.append(Remark(subject, Saying.CHANGED, Cause.TOLERATION, path, text))
    if not new:
        return
    if known:
        edits += [Put((*place.spec, "tolerations", len(known) + offset), each) for offset, each in enumerate(new)]
    else:
        edits.append(Put((*place.spec, "tolerations"), new))


def _tolerates(item: object, resource: str) -> bool:
    fields = mapping_at(item, ())
    return fields.get("key") in (resource, None, "") and fields.get("operator") == "Exists"


def _added_by_server(resource: str, evidence: Evidence) -> bool:
    """A pod of the dump shows it: it asks for the resource and has the toleration in the plugin's own form."""
    return any(
        pod.spec.requests.get(resource, 0) > 0
        and any(
            (each.key, each.exists, each.value, each.effect) == (resource, True, "", "NoSchedule")
            for each in pod.spec.tolerations
        )
        for pod in evidence.pods
    )


def _ray(
    obj: Json,
    place: PodPlace,
    subject: str,
    containers: Sequence[Container],
    queries: Mapping[str, Query],
    edits: list[Edit],
    remarks: list[Remark],
) -> None:
    """KubeRay counts GPUs for Ray from the limits of the first container; claims it does not see."""
    first = next((each for each in containers if each.role is Role.APP), None)
    if place.ray is None or first is None:
        return
    count = sum(first.counts.get(name, 0) for name, query in queries.items() if query.noun.startswith(("gpu", "mig")))
    if not count:
        return
    path = (*place.ray, "rayStartParams")
    params = mapping_at(obj, path)
    if "num-gpus" in params:
        return
    value = {"num-gpus": str(count)}
    edits.append(Put((*path, "num-gpus"), str(count)) if params else Put(path, value))
    text = f"num-gpus: {count} tells Ray what KubeRay read from the limits before"
    remarks.append(Remark(subject, Saying.CHANGED, Cause.RAY_GPUS, shown((*path, "num-gpus")), text))
