"""Which scheduler, autoscaler and queue run here: version, flags and gates, each with the field it was read from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster_evaluate.fields import Json, part, parts, text, texts

_VERSION = re.compile(r"(?:^|[^0-9])v?(\d{1,3})\.(\d{1,3})(?:\.\d+)?")
_BUILD = re.compile(r"-(amd64|arm|arm64|ppc64le|s390x|provider-.+|controller)")
_MADE_BY_OTHERS = frozenset({"ReplicaSet", "DaemonSet", "StatefulSet", "Job"})


class Part(StrEnum):
    """The programmes that are looked for."""

    SCHEDULER = "kube-scheduler"
    AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"
    KUEUE = "kueue"
    API_SERVER = "kube-apiserver"


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """An object and a field of it."""

    object: str
    field: str

    def __str__(self) -> str:
        return f"{self.object} {self.field}" if self.field else self.object


@dataclass(frozen=True, slots=True)
class Setting:
    value: str
    where: Where

    @property
    def on(self) -> bool:
        return self.value.strip().lower() in ("true", "t", "1")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True)
class Component:
    """`version` is None where no tag or label says it. Flags are without their dashes; the last of a name counts."""

    part: Part
    where: Where
    image: str
    version: Version | None
    version_where: Where
    flags: Mapping[str, Setting]
    gates: Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file within a ConfigMap, parsed; `where` names the map and its key."""

    where: Where
    body: Json


def find_components(objects: Sequence[Json], files: Sequence[ConfigFile]) -> tuple[Component, ...]:
    """Every one that the objects show, by part, oldest version first. Pods of a workload that is there are left out."""
    found = [each for obj in objects for each in _of_object(obj, files)]
    made = {
        _title(obj)
        for obj in objects
        if text(obj.get("kind")) == "Pod"
        and any(text(owner.get("kind")) in _MADE_BY_OTHERS for owner in parts(obj, "metadata", "ownerReferences"))
    }
    by_workload = {each.part for each in found if each.where.object not in made}
    kept = [each for each in found if each.where.object not in made or each.part not in by_workload]
    return tuple(sorted(kept, key=lambda each: (each.part, each.version or Version(999, 0), each.where)))


def _of_object(obj: Json, files: Sequence[ConfigFile]) -> Iterator[Component]:
    kind = text(obj.get("kind"))
    if kind == "Pod":
        if text(part(obj, "status").get("phase")) in ("Succeeded", "Failed"):
            return
        metadata, spec, path = part(obj, "metadata"), part(obj, "spec"), "spec"
    elif kind in ("Deployment", "DaemonSet", "StatefulSet"):
        metadata, spec, path = part(obj, "metadata"), part(obj, "spec", "template", "spec"), "spec.template.spec"
    else:
        return
    labels = {**_labels(part(obj, "spec", "template", "metadata")), **_labels(metadata)}
    containers = parts(spec, "containers")
    for index, container in enumerate(containers):
        arguments = [*texts(container.get("command")), *texts(container.get("args"))]
        image = text(container.get("image"))
        which = _part_of(image, arguments) or (_part_by_labels(labels) if len(containers) == 1 else None)
        if which is None:
            continue
        at = f"{path}.containers[{index}]"
        flags = _flags(arguments, Where(_title(obj), f"{at}.args"))
        gates = dict(_gates(flags.get("feature-gates")))
        gates |= _gates_of_environment(container, Where(_title(obj), f"{at}.env"))
        for file in files:
            gates |= _gates_of_file(which, file)
        version, where = _version(image, labels, Where(_title(obj), f"{at}.image"))
        yield Component(which, Where(_title(obj), at), image, version, where, flags, gates)


def _part_of(image: str, arguments: Sequence[str]) -> Part | None:
    """By the programme that is started, else by the words of the image's path."""
    for argument in arguments:
        programme = argument.rsplit("/", 1)[-1]
        if programme in set(Part) and not argument.startswith("-"):
            return Part(programme)
    *folders, last = image.split("@", 1)[0].split("/")
    name = last.split(":", 1)[0]
    for which in Part:
        if name == which or _BUILD.fullmatch(name.removeprefix(which)):
            return which
        if name in ("controller", "manager") and which in folders:
            return which
    return None


def _part_by_labels(labels: Mapping[str, str]) -> Part | None:
    for name in ("app.kubernetes.io/name", "component", "k8s-app", "app"):
        value = labels.get(name, "")
        if value in set(Part):
            return Part(value)
    return None


def _version(image: str, labels: Mapping[str, str], where: Where) -> tuple[Version | None, Where]:
    """Of the image's tag, else of the label that Helm and kustomize write."""
    tag = image.split("@", 1)[0].rsplit("/", 1)[-1].partition(":")[2]
    found = parse_version(tag)
    if found is not None:
        return found, where
    label = "app.kubernetes.io/version"
    return parse_version(labels.get(label, "")), Where(where.object, f"metadata.labels[{label}]")


def parse_version(written: str) -> Version | None:
    """Major and minor of `v1.36.2`, `1.36`, `chart-0.19.1`; None for anything else."""
    found = _VERSION.search(written)
    return Version(int(found[1]), int(found[2])) if found else None


def _flags(arguments: Sequence[str], where: Where) -> dict[str, Setting]:
    """`--name=value`, `--name value`, `--name` alone; feature gates that are given in parts are joined."""
    found: dict[str, Setting] = {}
    for index, argument in enumerate(arguments):
        if not argument.startswith("--"):
            continue
        name, equals, value = argument.removeprefix("--").partition("=")
        if not equals:
            following = arguments[index + 1] if index + 1 < len(arguments) else ""
            value = following if following and not following.startswith("-") else "true"
        if name == "feature-gates" and name in found:
            value = f"{found[name].value},{value}"
        found[name] = Setting(value, Where(where.object, f"{where.field} --{name}"))
    return found


def _gates(written: Setting | None) -> Iterator[tuple[str, Setting]]:
    for pair in written.value.split(",") if written is not None else ():
        name, equals, value = pair.strip().partition("=")
        if written is not None and name and equals:
            yield name, Setting(value, written.where)


def _gates_of_environment(container: Json, where: Where) -> dict[str, Setting]:
    """Karpenter reads its gates and flags from the environment."""
    for each in parts(container, "env"):
        if text(each.get("name")) == "FEATURE_GATES":
            return dict(_gates(Setting(text(each.get("value")), Where(where.object, f"{where.field} FEATURE_GATES"))))
    return {}


_CONFIG_KINDS: Mapping[Part, tuple[str, str]] = {
    Part.KUEUE: ("config.kueue.x-k8s.io/", "Configuration"),
    Part.SCHEDULER: ("kubescheduler.config.k8s.io/", "KubeSchedulerConfiguration"),
}


def is_config_of(which: Part, file: ConfigFile) -> bool:
    """Whether a file configures this programme."""
    group, kind = _CONFIG_KINDS.get(which, ("", ""))
    return bool(kind) and text(file.body.get("kind")) == kind and text(file.body.get("apiVersion")).startswith(group)


def _gates_of_file(which: Part, file: ConfigFile) -> dict[str, Setting]:
    if not is_config_of(which, file):
        return {}
    gates = part(file.body, "featureGates")
    where = Where(file.where.object, f"{file.where.field} featureGates")
    return {name: Setting(str(gates[name]).lower(), where) for name in sorted(gates)}


def _labels(metadata: Json) -> dict[str, str]:
    return {name: text(value) for name, value in part(metadata, "labels").items()}


def _title(obj: Json) -> str:
    metadata = part(obj, "metadata")
    parts_ = (text(obj.get("kind")), text(metadata.get("namespace")), text(metadata.get("name")))
    return "/".join(each for each in parts_ if each)
