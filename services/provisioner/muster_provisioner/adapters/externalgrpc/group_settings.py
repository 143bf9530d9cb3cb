"""A node group as the externalgrpc driver reads it, out of the NodeGroup object."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

DEFAULT_PROVIDER = ""


class ExternalGroup(BaseModel):
    """`spec.driver` of a group with type `externalgrpc`; times in seconds.

    `provider` names one of the configured endpoints, `address` (host:port) one without TLS; neither: the only one.
    `id` is the provider's name of the group, by default ours. `settle_seconds` is how long a call that got no answer
    may still take effect. Without `order_limit_seconds` the provider's own limit counts, or 15 minutes.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    type: Literal["externalgrpc"] = "externalgrpc"
    provider: str = DEFAULT_PROVIDER
    address: Annotated[str, Field(pattern=r"^$|^(\[[^\]\s]+\]|[^:\s/\[\]]+):\d{1,5}$")] = ""
    id: str = ""
    settle_seconds: Annotated[float, Field(gt=0)] = 30
    order_limit_seconds: Annotated[float, Field(gt=0)] | None = None


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    driver: ExternalGroup = ExternalGroup()


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    spec: _Spec = _Spec()


def read_external_group(manifest: Mapping[str, object]) -> ExternalGroup | str:
    """The driver's settings, or a sentence that names the first wrong field and what is wrong with it."""
    try:
        return _Group.model_validate(manifest).spec.driver
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"field {where}: {first['msg'][:1].lower()}{first['msg'][1:]} (got {first['input']!r:.80})"
