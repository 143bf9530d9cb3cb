"""A node group as the simulated cloud reads it: bounds, template, behaviour and script, out of the NodeGroup object."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from muster_types import NodeGroupName

Json = Mapping[str, object]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class _Open(BaseModel):
    """Kubernetes objects carry fields that the cloud does not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)


class AttributeSetting(_Strict):
    """An attribute that a device gets instead of the promised one."""

    device: str
    attribute: str
    value: bool | int | str


class WrongShape(_Strict):
    """How the nodes of an order differ from the template."""

    drop: tuple[str, ...] = ()
    set: tuple[AttributeSetting, ...] = ()


class ScriptEntry(_Strict):
    """What befalls the `order`-th order of the group, from 1. Times in seconds."""

    order: Annotated[int, Field(ge=1)]
    stockout_after: Count | None = None
    quota: Count | None = None
    wrong_shape: WrongShape = WrongShape()
    late_slices_seconds: Seconds = 0
    never_ready: bool = False
    delay_seconds: Seconds = 0
    # The first call has its effect, but the answer is lost.
    lose_answer: bool = False
    # The first call is lost on its way.
    lose_call: bool = False
    # The first call gets no answer and takes effect only after this time.
    apply_after_seconds: Seconds = 0


class Behaviour(_Strict):
    """`spec.driver` of a simulated group: how its machines come and go. Times in seconds; `capacity` counts the new
    nodes that the cloud has in stock, without it there is no end of them."""

    type: Literal["simulated"] = "simulated"
    boot_seconds: Seconds = 2
    slices_after_seconds: Seconds = 1
    jitter_seconds: Seconds = 0
    delete_seconds: Seconds = 0
    capacity: Count | None = None
    settle_seconds: Seconds = 1
    order_limit_seconds: Annotated[float, Field(gt=0)] = 900
    script: tuple[ScriptEntry, ...] = ()

    def for_order(self, nth: int) -> ScriptEntry:
        """What is scripted for the `nth` order of the group."""
        return next((entry for entry in self.script if entry.order == nth), ScriptEntry(order=nth))


class _Metadata(_Open):
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class _NodeSpec(_Open):
    taints: tuple[Json, ...] = ()


class _NodeStatus(_Open):
    allocatable: Mapping[str, str | int | float] = {}
    capacity: Mapping[str, str | int | float] = {}


class AttributeBinding(_Open):
    """Devices of a node that share a value of an attribute."""

    attribute: str
    devices: tuple[str, ...]


class DaemonPod(_Open):
    """A pod that every new node runs."""

    metadata: _Metadata = _Metadata()
    spec: Json = {}


class MachineTemplate(_Open):
    """What a new node brings; `resource_slices` are ResourceSlice specs without node, pool and slice names of nodes."""

    metadata: _Metadata = _Metadata()
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()
    resource_slices: tuple[Json, ...] = ()
    daemon_pods: tuple[DaemonPod, ...] = ()
    attribute_bindings: tuple[AttributeBinding, ...] = ()
    unique_attributes: tuple[str, ...] = ()


class _GroupSpec(_Open):
    min_size: Count = 0
    max_size: Count
    current_size: Count = 0
    atomic_unit: Annotated[int, Field(ge=1)] = 1
    domain_label: str = ""
    driver: Behaviour = Behaviour()
    template: MachineTemplate = MachineTemplate()


class SimulatedGroup(_Open):
    """A NodeGroup object whose driver is `simulated`."""

    metadata: _Metadata
    spec: _GroupSpec

    @property
    def name(self) -> NodeGroupName:
        """Name of the group."""
        return NodeGroupName(self.metadata.name)


def read_group(manifest: Json) -> SimulatedGroup | str:
    """The group, or a sentence that names the first wrong field and what is wrong with it."""
    try:
        return SimulatedGroup.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"field {where}: {first['msg'][:1].lower()}{first['msg'][1:]} (got {first['input']!r:.80})"
