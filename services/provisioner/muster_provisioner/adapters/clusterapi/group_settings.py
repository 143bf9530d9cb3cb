"""A node group as the Cluster API driver reads it, out of the NodeGroup object."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

GROUP = "cluster.x-k8s.io"
SizedKind = Literal["MachineDeployment", "MachineSet", "MachinePool"]


class ClusterApiSettings(BaseModel):
    """`spec.driver` of a group with type `clusterapi`: the object that is resized; times in seconds.

    `name` is by default that of the group. `group` is the API group, also the prefix of its annotations (CAPI_GROUP).
    `stockout_seconds`: providers retry for ever, so a machine counts as failed once its infrastructure has said for so
    long that there is no capacity.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    type: Literal["clusterapi"] = "clusterapi"
    kind: SizedKind = "MachineDeployment"
    namespace: Annotated[str, Field(min_length=1)]
    name: str = ""
    group: Annotated[str, Field(min_length=1)] = GROUP
    settle_seconds: Annotated[float, Field(gt=0)] = 10
    order_limit_seconds: Annotated[float, Field(gt=0)] = 900
    stockout_seconds: Annotated[float, Field(ge=0)] = 60
    default_arch: str = "amd64"


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    min_size: Annotated[int, Field(ge=0)] = 0
    max_size: Annotated[int, Field(ge=0)]
    driver: ClusterApiSettings


class ClusterApiGroup(BaseModel):
    """A NodeGroup object whose driver is `clusterapi`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    spec: _Spec


def read_clusterapi_group(manifest: Mapping[str, object]) -> ClusterApiGroup | str:
    """The group, or a sentence that names the first wrong field and what is wrong with it."""
    try:
        return ClusterApiGroup.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"field {where}: {first['msg'][:1].lower()}{first['msg'][1:]} (got {first['input']!r:.80})"
