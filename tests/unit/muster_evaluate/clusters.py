"""Programmes of a cluster, and pending gangs, in few words."""

from collections.abc import Sequence
from fractions import Fraction

from muster_evaluate import Capability, CapabilityRow, ConfigFile, Evaluation, Level, Where, evaluate
from muster_evaluate.components import find_components
from muster_evaluate.fields import part
from muster_evaluate.judging import judge
from muster_plan import Snapshot
from support.cluster_objects import Json, a_class, a_gang, a_pod, a_request, a_template, an_object


def with_metadata(obj: Json, **fields: object) -> Json:
    """With these fields of the metadata beside or in place of its own."""
    return {**obj, "metadata": {**part(obj, "metadata"), **fields}}


def a_programme(name: str, image: str, *arguments: str, kind: str = "Deployment", **container: object) -> Json:
    """A Deployment, or a static Pod, with one container."""
    place: Json = {"nodeName": "cp-1"} if kind == "Pod" else {}
    pod: Json = {**place, "containers": [{"name": "main", "image": image, "args": list(arguments), **container}]}
    spec = pod if kind == "Pod" else {"template": {"spec": pod}}
    version = "v1" if kind == "Pod" else "apps/v1"
    return an_object(version, kind, name, "kube-system", spec=spec)


def a_scheduler(version: str = "v1.37.0", *gates: str) -> Json:
    arguments = [f"--feature-gates={','.join(gates)}"] if gates else []
    image = f"registry.k8s.io/kube-scheduler:{version}"
    return a_programme("kube-scheduler-cp-1", image, *arguments, kind="Pod", command=["kube-scheduler"])


def an_autoscaler(version: str = "v1.36.1", *arguments: str) -> Json:
    return a_programme("cluster-autoscaler", f"registry.k8s.io/autoscaling/cluster-autoscaler:{version}", *arguments)


def a_karpenter(version: str = "1.14.0", *arguments: str, env: Sequence[Json] = ()) -> Json:
    return a_programme("karpenter", f"public.ecr.aws/karpenter/controller:{version}", *arguments, env=env)


def a_kueue(version: str = "v0.19.0", *arguments: str) -> Json:
    return a_programme("kueue-controller-manager", f"registry.k8s.io/kueue/kueue:{version}", *arguments)


def judged(*objects: Json, files: Sequence[ConfigFile] = ()) -> dict[Capability, CapabilityRow]:
    rows = judge(find_components(objects, files), files, shows_workloads=True)
    return {row.capability: row for row in rows}


def level(capability: Capability, *objects: Json, files: Sequence[ConfigFile] = ()) -> Level:
    return judged(*objects, files=files)[capability].level


def a_config(kind: str, body: Json) -> ConfigFile:
    version = "config.kueue.x-k8s.io/v1beta2" if kind == "Configuration" else "kubescheduler.config.k8s.io/v1"
    where = Where("ConfigMap/kube-system/config", "data[config.yaml]")
    return ConfigFile(where, {"apiVersion": version, "kind": kind, **body})


def evaluated(*objects: Json, idle_minutes: Fraction | None = None) -> Evaluation:
    return evaluate(
        objects, Snapshot.build(objects), (), idle_minutes=idle_minutes, progress=lambda what, done, total: None
    )


def a_pending_gang(
    name: str, pods: int, *, count: int = 2, key: str = "", constraints: Sequence[Json] = (), least: int | None = None
) -> list[Json]:
    """A PodGroup of pods with a claim of their own for `count` GPUs each."""
    return [
        a_gang(name, pods if least is None else least, key=key),
        a_template(name, a_request(count=count), constraints=constraints),
        *(a_pod(f"{name}-{index}", template=name, gang=name) for index in range(pods)),
    ]


CLASS = a_class()
