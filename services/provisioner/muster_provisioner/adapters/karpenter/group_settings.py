"""A node group as the Karpenter driver reads it, out of the NodeGroup object."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

Json = Mapping[str, object]
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
_PINNED = {INSTANCE_TYPE: "instanceType", ZONE: "zone", CAPACITY_TYPE: "capacityType"}
NODEPOOL = "karpenter.sh/nodepool"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class _Open(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)


class NodeClassRef(_Strict):
    """The provider's part of a machine; it also decides which Karpenter makes it."""

    group: Annotated[str, Field(min_length=1)]
    kind: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]


class Requirement(_Strict):
    """A requirement on a node's labels, as a NodeClaim has it."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    values: tuple[str, ...] = ()


class KarpenterSettings(_Strict):
    """`spec.driver` of a group with type `karpenter`; times in seconds.

    `instance_type`, `zone` and `capacity_type` pin what every machine is (rule N-6.7); what is not given is taken from
    the template's labels. `labels` are put on every node. `initialize_seconds`: from registration to initialized, which
    Karpenter itself waits for without end (N-6.9).
    """

    type: Literal["karpenter"] = "karpenter"
    node_class_ref: NodeClassRef
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    requirements: tuple[Requirement, ...] = ()
    requests: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    termination_grace_period: str = ""
    settle_seconds: Annotated[float, Field(gt=0)] = 5
    order_limit_seconds: Annotated[float, Field(gt=0)] = 1500
    initialize_seconds: Annotated[float, Field(gt=0)] = 1800


class _Metadata(_Open):
    labels: Mapping[str, str] = {}


class _NodeSpec(_Open):
    taints: tuple[Json, ...] = ()


class _Template(_Open):
    metadata: _Metadata = _Metadata()
    spec: _NodeSpec = _NodeSpec()


class _Spec(_Open):
    min_size: Annotated[int, Field(ge=0)] = 0
    max_size: Annotated[int, Field(ge=0)]
    driver: KarpenterSettings
    template: _Template = _Template()


class KarpenterGroup(_Open):
    """A NodeGroup object whose driver is `karpenter`."""

    spec: _Spec

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The pinned ones first, then the others as given."""
        driver, labels = self.spec.driver, self.spec.template.metadata.labels
        chosen = {INSTANCE_TYPE: driver.instance_type, ZONE: driver.zone, CAPACITY_TYPE: driver.capacity_type}
        given = {each.key for each in driver.requirements}
        pinned = [
            Requirement(key=key, operator="In", values=(value,))
            for key in _PINNED
            if (value := chosen[key] or ("" if key in given else labels.get(key, "")))
        ]
        return (*pinned, *driver.requirements)

    def problem(self) -> str | None:
        """A sentence that says which rule the settings break."""
        requirements = self.requirements
        for key, field in _PINNED.items():
            about = [each for each in requirements if each.key == key]
            if len(about) != 1 or about[0].operator != "In" or len(about[0].values) != 1:
                return f"field spec.driver.{field}: pin {key} to one value, so that what arrives is what was planned"
        if NODEPOOL in self.spec.driver.labels or any(each.key == NODEPOOL for each in requirements):
            return f"field spec.driver: {NODEPOOL} would put the machines under consolidation and drift; remove it"
        return None


def read_karpenter_group(manifest: Json) -> KarpenterGroup | str:
    """The group, or a sentence that names the first wrong field and what is wrong with it."""
    try:
        group = KarpenterGroup.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"field {where}: {first['msg'][:1].lower()}{first['msg'][1:]} (got {first['input']!r:.80})"
    return group.problem() or group
