"""What can be checked of claims before any node is looked at (dra-semantics §3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from muster_dra.features import Features
from muster_dra.objects.claims import ClaimSpec, DeviceConstraint, DeviceRequest, ResourceClaim
from muster_dra.objects.classes import DeviceClass
from muster_dra.outcome import Fatal, FatalKind

MAX_RESULTS = 32
"""Devices of one claim's allocation."""


class Mode(Enum):
    EXACT_COUNT = "ExactCount"
    ALL = "All"


@dataclass(frozen=True, slots=True)
class PreparedOption:
    """One way to satisfy a request: the exact request itself, or one of its alternatives.

    `full_name` is `req` or `req/sub`; `expressions` are the CEL texts with the place each stands at, class first;
    `constraints` are the indexes of the claim's constraints that apply.
    """

    request: str
    full_name: str
    device_class: DeviceClass
    expressions: tuple[tuple[str, str], ...]
    mode: Mode
    count: int
    admin: bool
    wanted: DeviceRequest
    constraints: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    name: str
    options: tuple[PreparedOption, ...]
    prioritized: bool


@dataclass(frozen=True, slots=True)
class PreparedConstraint:
    """`distinct` False: all devices share the value; True: no two do. The attribute is fully qualified."""

    attribute: str
    distinct: bool


@dataclass(frozen=True, slots=True)
class PreparedClaim:
    claim: ResourceClaim
    requests: tuple[PreparedRequest, ...]
    constraints: tuple[PreparedConstraint, ...]


def prepare(
    claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass], features: Features
) -> tuple[PreparedClaim, ...] | Fatal:
    """The claims with everything resolved, or what makes them fatal on every node."""
    prepared: list[PreparedClaim] = []
    for claim in claims:
        found = _prepare_claim(claim, classes, features)
        if isinstance(found, Fatal):
            return found
        prepared.append(found)
    return tuple(prepared)


def _prepare_claim(
    claim: ResourceClaim, classes: Mapping[str, DeviceClass], features: Features
) -> PreparedClaim | Fatal:
    place = f"claim {claim.full_name}"
    requests: list[PreparedRequest] = []
    for request in claim.spec.requests:
        prioritized = bool(request.first_available)
        wanted = request.first_available or ((request.exactly,) if request.exactly else ())
        if prioritized and not features.prioritized_list:
            return Fatal(
                FatalKind.FEATURE_DISABLED,
                f"{place}, request {request.name}: has subrequests, but the DRAPrioritizedList feature is disabled",
            )
        if not wanted:
            return Fatal(
                FatalKind.CLASS_UNNAMED,
                f"{place}, request {request.name}: neither exactly nor firstAvailable (unsupported request type?)",
            )
        options: list[PreparedOption] = []
        for one in wanted:
            full_name = f"{request.name}/{one.name}" if prioritized else request.name
            found = _prepare_option(place, request.name, full_name, one, claim.spec, classes, features)
            if isinstance(found, Fatal):
                return found
            options.append(found)
        requests.append(PreparedRequest(request.name, tuple(options), prioritized))
    constraints: list[PreparedConstraint] = []
    for index, constraint in enumerate(claim.spec.constraints):
        attribute = constraint.match_attribute or constraint.distinct_attribute
        if not attribute:
            return Fatal(
                FatalKind.CONSTRAINT_EMPTY,
                f"{place}, constraint #{index}: names no attribute (unsupported constraint?)",
            )
        constraints.append(PreparedConstraint(attribute, not constraint.match_attribute))
    return PreparedClaim(claim, tuple(requests), tuple(constraints))


def _prepare_option(
    place: str,
    request: str,
    full_name: str,
    wanted: DeviceRequest,
    spec: ClaimSpec,
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> PreparedOption | Fatal:
    where = f"{place}, request {full_name}"
    if not wanted.class_name:
        return Fatal(FatalKind.CLASS_UNNAMED, f"{where}: missing device class name (unsupported request type?)")
    device_class = classes.get(wanted.class_name)
    if device_class is None:
        return Fatal(FatalKind.CLASS_MISSING, f"{where}: device class {wanted.class_name} not found")
    if wanted.capacity is not None and not features.consumable_capacity:
        return Fatal(
            FatalKind.FEATURE_DISABLED,
            f"{where}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
        )
    if wanted.admin_access is not None and not features.admin_access:
        return Fatal(
            FatalKind.FEATURE_DISABLED, f"{where}: has admin access, but the DRAAdminAccess feature is disabled"
        )
    expressions: list[tuple[str, str]] = []
    for owner, selectors in ((f"class {device_class.name}, ", device_class.selectors), ("", wanted.selectors)):
        for index, expression in enumerate(selectors):
            if expression is None:
                return Fatal(
                    FatalKind.SELECTOR_EMPTY,
                    f"{where}, {owner}selector #{index}: CEL expression empty (unsupported selector type?)",
                )
            expressions.append((f"{owner}selector #{index}", expression))
    try:
        mode = Mode(wanted.mode)
    except ValueError:
        return Fatal(FatalKind.MODE_UNKNOWN, f"{where}: {_unknown_mode(wanted.mode)}")
    return PreparedOption(
        request,
        full_name,
        device_class,
        tuple(expressions),
        mode,
        wanted.count if mode is Mode.EXACT_COUNT else 0,
        bool(wanted.admin_access),
        wanted,
        tuple(index for index, constraint in enumerate(spec.constraints) if _applies(constraint, request, full_name)),
    )


def _unknown_mode(mode: str) -> str:
    modes = " or ".join(known.value for known in Mode)
    if mode:
        return f"allocationMode {mode!r} is unknown (unsupported count mode); write {modes}"
    return f"allocationMode is missing (unsupported count mode), and nobody filled in the default; write {modes}"


def _applies(constraint: DeviceConstraint, request: str, full_name: str) -> bool:
    """`req` names a request whatever alternative is chosen, `req/sub` only that alternative; nothing names all."""
    return not constraint.requests or request in constraint.requests or full_name in constraint.requests
