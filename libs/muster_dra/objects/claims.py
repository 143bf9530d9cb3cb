"""ResourceClaims: what is asked for, and what is already allocated (dra-semantics §1.9-§1.11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from muster_dra.amounts import Amount
from muster_dra.objects.classes import OpaqueConfig, parse_selectors
from muster_dra.objects.node_selectors import NodeSelector, parse_node_selector
from muster_dra.objects.taints import DeviceToleration, parse_toleration
from muster_dra.objects.versions import VERSIONS, exact_request_fields
from muster_dra.reading import Fields
from muster_types import DeviceId, Nano


class Defaults(Enum):
    """Whether fields that the API server would fill are filled while reading (dra-semantics §1.9)."""

    API_SERVER = "as the API server fills them"
    AS_WRITTEN = "as written: an absent allocationMode is an unknown mode, an absent count is 0"


@dataclass(frozen=True, slots=True)
class DerivedAttribute:
    """An attribute that constraints see on the devices of one request: the value of a CEL expression (KEP-6080)."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """An exact request or one alternative of a prioritised one: they differ in the name's place and in admin access."""

    name: str
    class_name: str
    selectors: tuple[str | None, ...] = ()
    mode: str = "ExactCount"
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: Mapping[str, Amount] | None = None
    derived: tuple[DerivedAttribute, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """One line of a claim: exactly one request, or alternatives in order of preference. Neither: a newer API."""

    name: str
    exactly: DeviceRequest | None = None
    first_available: tuple[DeviceRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """A condition across devices of one claim. Empty `requests` means all; match wins when both are set."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


@dataclass(frozen=True, slots=True)
class ClaimConfig:
    requests: tuple[str, ...]
    config: OpaqueConfig


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """What a claim asks for. Claims from one template share the value, and what was compiled for it."""

    requests: tuple[ClaimRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One result in `status.allocation`. `consumed` is None when nothing was recorded."""

    request: str
    device: DeviceId
    admin_access: bool = False
    share_id: str | None = None
    consumed: Mapping[str, Nano] | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    @property
    def is_share(self) -> bool:
        return self.share_id is not None

    @property
    def committed(self) -> Mapping[str, Nano] | None:
        """What the share is known to take, in nano-units by capacity name."""
        return self.consumed


@dataclass(frozen=True, slots=True)
class AllocationStatus:
    """`status.allocation`; `node_selector` None means usable everywhere."""

    devices: tuple[AllocatedDevice, ...]
    node_selector: NodeSelector | None = None


@dataclass(frozen=True, slots=True)
class ConsumerReference:
    """An entry of `status.reservedFor`."""

    api_group: str
    resource: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim. It is allocated iff `allocation` is not None."""

    name: str
    namespace: str = ""
    spec: ClaimSpec = ClaimSpec()
    allocation: AllocationStatus | None = None
    uid: str = ""
    reserved_for: tuple[ConsumerReference, ...] = ()
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def parse_claim(json: object, defaults: Defaults = Defaults.API_SERVER) -> ResourceClaim:
    """A ResourceClaim of v1, v1beta2 or v1beta1, normalised to v1. Raises InvalidObject."""
    top = Fields.of_object(json, "ResourceClaim", VERSIONS)
    metadata, status = top.child("metadata"), top.child("status")
    return ResourceClaim(
        top.name,
        top.namespace,
        parse_claim_spec(top.child("spec"), defaults),
        _allocation(status.child("allocation")) if status.has("allocation") else None,
        metadata.text("uid"),
        tuple(
            ConsumerReference(
                consumer.text("apiGroup"), consumer.text("resource"), consumer.text("name"), consumer.text("uid")
            )
            for consumer in status.children("reservedFor")
        ),
        metadata.has("deletionTimestamp"),
        metadata.labels("labels"),
        metadata.labels("annotations"),
    )


def parse_claim_spec(spec: Fields, defaults: Defaults = Defaults.API_SERVER) -> ClaimSpec:
    """The spec of a claim; that of a ResourceClaimTemplate is `top.child("spec").child("spec")`."""
    devices = spec.child("devices")
    return ClaimSpec(
        tuple(_request(request, defaults) for request in devices.children("requests")),
        tuple(
            DeviceConstraint(
                constraint.texts("requests"), constraint.text("matchAttribute"), constraint.text("distinctAttribute")
            )
            for constraint in devices.children("constraints")
        ),
        tuple(
            ClaimConfig(
                config.texts("requests"),
                OpaqueConfig({key: value for key, value in config.json.items() if key != "requests"}),
            )
            for config in devices.children("config")
        ),
    )


def parse_claim_template(json: object, defaults: Defaults = Defaults.API_SERVER) -> ClaimSpec:
    """The spec that a ResourceClaimTemplate copies into its claims (dra-semantics §1.10). Raises InvalidObject."""
    top = Fields.of_object(json, "ResourceClaimTemplate", VERSIONS)
    return parse_claim_spec(top.child("spec").child("spec"), defaults)


def _request(json: Fields, defaults: Defaults) -> ClaimRequest:
    name = json.required_text("name")
    alternatives = json.children("firstAvailable")
    if alternatives:  # an empty list is as good as none
        if exact_request_fields(json) is not None:
            raise json.wrong("firstAvailable", f"request {name} has an exact request too; leave one of the two out")
        return ClaimRequest(
            name,
            first_available=tuple(
                _device_request(alternative, alternative.required_text("name"), defaults)
                for alternative in alternatives
            ),
        )
    exactly = exact_request_fields(json)
    return ClaimRequest(name, None if exactly is None else _device_request(exactly, name, defaults))


def _device_request(json: Fields, name: str, defaults: Defaults) -> DeviceRequest:
    mode, count = json.text("allocationMode"), json.integer("count") or 0
    if defaults is Defaults.API_SERVER:
        mode = mode or "ExactCount"
        count = count or (1 if mode == "ExactCount" else 0)
    if count < 0:
        raise json.wrong("count", f"want 1 or more, got {count}")
    capacity = json.child("capacity")
    return DeviceRequest(
        name,
        json.text("deviceClassName"),
        parse_selectors(json),
        mode,
        count,
        json.boolean("adminAccess"),
        tuple(map(parse_toleration, json.children("tolerations"))),
        capacity.named_amounts("requests") if json.has("capacity") else None,
        tuple(
            DerivedAttribute(derived.required_text("name"), derived.required_text("expression"))
            for derived in json.children("derivedAttributes")
        ),
    )


def _allocation(json: Fields) -> AllocationStatus:
    results = json.child("devices").children("results")
    return AllocationStatus(
        tuple(map(_allocated_device, results)),
        parse_node_selector(json.child("nodeSelector")) if json.has("nodeSelector") else None,
    )


def _allocated_device(json: Fields) -> AllocatedDevice:
    consumed = json.named_amounts("consumedCapacity") if json.has("consumedCapacity") else None
    return AllocatedDevice(
        json.text("request"),
        DeviceId(json.required_text("driver"), json.required_text("pool"), json.required_text("device")),
        bool(json.boolean("adminAccess")),
        json.text("shareID") if json.has("shareID") else None,
        None if consumed is None else {name: amount.nano for name, amount in consumed.items()},
        tuple(map(parse_toleration, json.children("tolerations"))),
        json.texts("bindingConditions"),
        json.texts("bindingFailureConditions"),
    )
