"""Machines, and the objects that are resized, as the driver reads them (group-capacity §6.1). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster_kubeapi import Json
from muster_provisioner.adapters.kube_calls import at, conditions_of, items, moment, shortfall_class, text, whole
from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_types import NodeName

# Who asked for the deletion; the controllers take any value.
BY_US = "muster.dev"


@dataclass(frozen=True, slots=True)
class Marks:
    """Names of annotations and labels of an API group."""

    group: str

    @property
    def delete_machine(self) -> str:
        """On a Machine: this one first when there are fewer replicas."""
        return f"{self.group}/delete-machine"

    @property
    def paused(self) -> str:
        """On the resized object: its controller does nothing."""
        return f"{self.group}/paused"

    @property
    def min_size(self) -> str:
        """On the resized object: least size for autoscalers."""
        return f"{self.group}/cluster-api-autoscaler-node-group-min-size"

    @property
    def max_size(self) -> str:
        """On the resized object: greatest size for autoscalers."""
        return f"{self.group}/cluster-api-autoscaler-node-group-max-size"

    def owner_label(self, kind: str) -> str:
        """On a Machine: the name of the object that it belongs to."""
        part = {"MachineDeployment": "deployment-name", "MachineSet": "set-name", "MachinePool": "pool-name"}[kind]
        return f"{self.group}/{part}"


@dataclass(frozen=True, slots=True)
class Sized:
    """The object that is resized: its replicas at a version."""

    body: Json
    marks: Marks
    replicas: int
    version: str

    @property
    def paused(self) -> bool:
        """Whether it is itself paused."""
        return self.marks.paused in at(self.body, "metadata", "annotations")

    def bounds(self, least: int, most: int) -> tuple[int, int]:
        """Least and greatest size: the tighter of what is declared and what its annotations say."""
        annotations = at(self.body, "metadata", "annotations")
        floor, ceiling = annotations.get(self.marks.min_size), annotations.get(self.marks.max_size)
        return max(least, whole(floor, least)), min(most, whole(ceiling, most))

    @property
    def provider_ids(self) -> tuple[str, ...]:
        """Instances of a MachinePool, which may have no Machines."""
        listed = at(self.body, "spec").get("providerIDList")
        return tuple(sorted({text(each) for each in listed if text(each)})) if isinstance(listed, list) else ()

    def selector(self, kind: str) -> str:
        """Of its Machines, as labels."""
        name = text(at(self.body, "metadata").get("name"))
        labels = at(self.body, "spec", "selector", "matchLabels") or {self.marks.owner_label(kind): name}
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


@dataclass(frozen=True, slots=True)
class Machine:
    """A Machine. `marked`: we asked for its deletion."""

    name: InstanceId
    node: NodeName
    deleting: bool
    marked: bool
    failure: Failure | None

    @property
    def instance(self) -> Instance:
        """It runs once its node joined; its name stays, while its provider id comes late, so the name is the id."""
        if self.deleting:
            return Instance(self.name, self.node, InstanceState.DELETING)
        runs = bool(self.node) and self.failure is None
        state = InstanceState.RUNNING if runs else InstanceState.CREATING
        return Instance(self.name, self.node if runs else NodeName(""), state, failure=self.failure)


def read_machine(obj: Json, marks: Marks, now: datetime, stockout: timedelta) -> Machine:
    """A Machine as it is now; `stockout` is how long a lack of capacity must stand to be a failure."""
    metadata, status = at(obj, "metadata"), at(obj, "status")
    return Machine(
        name=InstanceId(text(metadata.get("name"))),
        node=NodeName(text(at(status, "nodeRef").get("name"))),
        deleting=bool(metadata.get("deletionTimestamp")),
        marked=at(metadata, "annotations").get(marks.delete_machine) == BY_US,
        failure=failure_of(obj, now, stockout),
    )


def failure_of(obj: Json, now: datetime, stockout: timedelta) -> Failure | None:
    """Why a Machine will not become a node. There is no class for a lack of capacity: the phase, the older failure
    fields, and words of the infrastructure's condition that stand for a while say it."""
    name, status = text(at(obj, "metadata").get("name")), at(obj, "status")
    for terminal in (status, at(status, "deprecated", "v1beta1")):
        said = ": ".join(filter(None, (text(terminal.get("failureReason")), text(terminal.get("failureMessage")))))
        if said:
            return Failure(shortfall_class(said), f"{name}: {said}")
    if at(status, "nodeRef").get("name"):
        return None
    infrastructure = conditions_of(obj).get("InfrastructureReady")
    if text(status.get("phase")) == "Failed":
        said = "the phase is Failed" if infrastructure is None else infrastructure.text
        return Failure(shortfall_class(said), f"{name}: {said}")
    if infrastructure is None or infrastructure.holds:
        return None
    kind = shortfall_class(infrastructure.text)
    since = infrastructure.since or moment(at(obj, "metadata"), "creationTimestamp")
    stands = since is not None and now - since >= stockout
    if stands and (kind is not ShortfallClass.OTHER or _is_error(obj)):
        return Failure(kind, f"{name}: {infrastructure.text}")
    return None


def to_lower(machines: Sequence[Machine], replicas: int) -> int | None:
    """By how much the replicas are to be lowered so that exactly the marked machines go; None: not now.

    Replicas below the machines that exist say that so many are on their way out already: a repeat lowers nothing. With
    replicas above them machines are still being made, and fewer replicas would take those instead of the marked ones.
    """
    staying = [machine for machine in machines if not machine.deleting]
    if replicas > len(staying):
        return None
    marked = sum(machine.marked for machine in staying)
    return max(marked - (len(staying) - replicas), 0)


def _is_error(obj: Json) -> bool:
    """Whether the condition, in the older form, says that somebody must act."""
    return any(
        each.get("type") == "InfrastructureReady" and each.get("severity") == "Error"
        for each in items(at(obj, "status").get("conditions"))
    )
