"""Where the objects of each kind keep pods, and which kinds ask for devices without a pod (API types of each project).

A `*` in a place goes through the items of a list or the values of a map; the item's name becomes part of the role.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from muster_migrate.edits import Json, Path, at, mapping_at


@dataclass(frozen=True, slots=True)
class PodPlace:
    """One pod of an object: `path` leads to what holds its `metadata` and `spec`; `role` is "" for the only one.

    `ray` leads to the Ray group whose start parameters name the GPUs, where there is one.
    """

    path: Path
    role: str
    ray: Path | None = None

    @property
    def spec(self) -> Path:
        """Where the pod's spec stands."""
        return (*self.path, "spec")


@dataclass(frozen=True, slots=True)
class Deaf:
    """A kind that asks for integers and has no field for claims: `places` are maps of resources, with the way out."""

    places: tuple[str, ...]
    remedy: str


_TEMPLATE = "spec.template"
_JOB_SET = "spec.template.spec.replicatedJobs.*.template.spec.template"

POD_PLACES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("",),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): (_TEMPLATE,),
    ("apps", "Deployment"): (_TEMPLATE,),
    ("apps", "ReplicaSet"): (_TEMPLATE,),
    ("apps", "StatefulSet"): (_TEMPLATE,),
    ("apps", "DaemonSet"): (_TEMPLATE,),
    ("batch", "Job"): (_TEMPLATE,),
    ("batch", "CronJob"): ("spec.jobTemplate.spec.template",),
    ("jobset.x-k8s.io", "JobSet"): ("spec.replicatedJobs.*.template.spec.template",),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    ("kubeflow.org", "PyTorchJob"): ("spec.pytorchReplicaSpecs.*.template",),
    ("kubeflow.org", "TFJob"): ("spec.tfReplicaSpecs.*.template",),
    ("kubeflow.org", "MPIJob"): ("spec.mpiReplicaSpecs.*.template",),
    ("kubeflow.org", "XGBoostJob"): ("spec.xgbReplicaSpecs.*.template",),
    ("kubeflow.org", "PaddleJob"): ("spec.paddleReplicaSpecs.*.template",),
    ("kubeflow.org", "MXJob"): ("spec.mxReplicaSpecs.*.template",),
    ("kubeflow.org", "JAXJob"): ("spec.jaxReplicaSpecs.*.template",),
    ("kubeflow.org", "Notebook"): (_TEMPLATE,),
    ("trainer.kubeflow.org", "TrainingRuntime"): (_JOB_SET,),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): (_JOB_SET,),
    ("ray.io", "RayCluster"): ("spec.headGroupSpec.template", "spec.workerGroupSpecs.*.template"),
    ("ray.io", "RayJob"): (
        "spec.rayClusterSpec.headGroupSpec.template",
        "spec.rayClusterSpec.workerGroupSpecs.*.template",
        "spec.submitterPodTemplate",
    ),
    ("ray.io", "RayService"): (
        "spec.rayClusterConfig.headGroupSpec.template",
        "spec.rayClusterConfig.workerGroupSpecs.*.template",
    ),
    ("batch.volcano.sh", "Job"): ("spec.tasks.*.template",),
}

WITHOUT_CLAIMS: Mapping[tuple[str, str], Deaf] = {
    ("trainer.kubeflow.org", "TrainJob"): Deaf(
        ("spec.trainer.resourcesPerNode",),
        "ask for the devices in the TrainingRuntime that it names and migrate that, or use --extended-resource",
    ),
    ("sparkoperator.k8s.io", "SparkApplication"): Deaf(
        ("spec.driver.gpu", "spec.executor.gpu"),
        "ask for the devices in spec.executor.template, or use --extended-resource",
    ),
}

_ROLES: Mapping[str, str] = {"leaderTemplate": "leader", "workerTemplate": "worker", "headGroupSpec": "head"}


def group_kind(obj: Json) -> tuple[str, str]:
    """Group ("" for core) and kind."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, kind if isinstance(kind, str) else ""


def pod_places(obj: Json) -> tuple[PodPlace, ...]:
    """Every pod of an object of a known kind, in the order in which they stand; none for other kinds."""
    found: list[PodPlace] = []
    for pattern in POD_PLACES.get(group_kind(obj), ()):
        steps = tuple(pattern.split(".")) if pattern else ()
        for path, names in _expanded(obj, (), steps):
            if not isinstance(at(obj, (*path, "spec")), Mapping):
                continue
            fixed = [_ROLES[step] for step in steps if step in _ROLES]
            ray = path[:-1] if group_kind(obj)[0] == "ray.io" and path[-1] == "template" else None
            found.append(PodPlace(path, "-".join((*fixed, *names)), ray))
    return tuple(found)


def embedded(obj: Json) -> tuple[tuple[Path, Path], ...]:
    """Whole objects inside an object, as (their path, the list where a neighbour belongs): Lists and AppWrappers."""
    kind = group_kind(obj)
    if kind[1].endswith("List") and isinstance(obj.get("items"), Sequence):
        items = cast("Sequence[object]", obj["items"])
        return tuple((("items", index), ("items",)) for index in range(len(items)))
    if kind == ("workload.codeflare.dev", "AppWrapper"):
        components = at(obj, ("spec", "components"))
        if isinstance(components, Sequence) and not isinstance(components, str):
            count = len(cast("Sequence[object]", components))
            return tuple((("spec", "components", i, "template"), ("spec", "components")) for i in range(count))
    return ()


def _expanded(obj: object, path: Path, steps: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    if not steps:
        yield path, ()
        return
    step, rest = steps[0], steps[1:]
    if step != "*":
        if isinstance(mapping_at(obj, path).get(step), Mapping | Sequence):
            yield from _expanded(obj, (*path, step), rest)
        return
    value = at(obj, path)
    if isinstance(value, Mapping):
        for key in cast("Json", value):
            for found, names in _expanded(obj, (*path, key), rest):
                yield found, (key.lower(), *names)
    elif isinstance(value, Sequence):
        for index, item in enumerate(cast("Sequence[object]", value)):
            fields = mapping_at(item, ())
            name = fields.get("name", fields.get("groupName"))
            for found, names in _expanded(obj, (*path, index), rest):
                yield found, (name if isinstance(name, str) and name else str(index), *names)
