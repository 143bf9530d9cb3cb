"""ResourceClaim, ResourceClaimTemplate, DeviceClass, DeviceTaintRule: what the API server refuses (dra-semantics §1.8
to §1.13). Whether an expression compiles is the engine's to say."""

from collections.abc import Mapping, Sequence

from muster_kube.faults import Faults, check_metadata, given, numbered
from muster_kube.names import (
    dns_label,
    dns_subdomain,
    driver_name,
    fully_qualified_name,
    label_key,
    pool_name,
    qualified_name,
)
from muster_kube.parts import mapping, sequence, text, whole
from muster_kube.selector_rules import check_device_taint, check_node_selector, check_toleration

_MOST_EXPRESSION = 10 * 1024
_FLAT_FIELDS = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


def check_claim(faults: Faults, obj: Mapping[str, object]) -> None:
    """A claim: its spec and, when allocated, its status."""
    check_claim_spec(faults, "spec", mapping(obj.get("spec")), flat=_is_v1beta1(obj))
    status = mapping(obj.get("status"))
    faults.at_most("status.reservedFor", sequence(status.get("reservedFor")), 256)
    allocation = mapping(status.get("allocation"))
    if given(allocation.get("nodeSelector")):
        check_node_selector(faults, "status.allocation.nodeSelector", allocation.get("nodeSelector"))
    results = sequence(mapping(allocation.get("devices")).get("results"))
    faults.at_most("status.allocation.devices.results", results, 32)
    for at, result in numbered(results, "status.allocation.devices.results"):
        faults.name(f"{at}.driver", result.get("driver"), driver_name)
        faults.name(f"{at}.pool", result.get("pool"), pool_name)
        faults.name(f"{at}.device", result.get("device"), dns_label)
        faults.name(f"{at}.request", result.get("request"), _request_reference)


def check_claim_template(faults: Faults, obj: Mapping[str, object]) -> None:
    """A template: the claim's spec one level down."""
    spec = mapping(obj.get("spec"))
    check_metadata(faults, "spec.metadata", mapping(spec.get("metadata")), named=False)
    check_claim_spec(faults, "spec.spec", mapping(spec.get("spec")), flat=_is_v1beta1(obj))


def check_class(faults: Faults, obj: Mapping[str, object]) -> None:
    """A device class."""
    spec = mapping(obj.get("spec"))
    _check_selectors(faults, "spec.selectors", sequence(spec.get("selectors")))
    faults.at_most("spec.config", sequence(spec.get("config")), 32)
    faults.optional_name("spec.extendedResourceName", spec.get("extendedResourceName"), label_key)
    if "suitableNodes" in spec:
        faults.warn("spec.suitableNodes", "it was removed in 1.32 and has no effect; remove it")


def check_taint_rule(faults: Faults, obj: Mapping[str, object]) -> None:
    """A rule that taints devices."""
    spec = mapping(obj.get("spec"))
    selector = mapping(spec.get("deviceSelector"))
    faults.optional_name("spec.deviceSelector.driver", selector.get("driver"), driver_name)
    faults.optional_name("spec.deviceSelector.pool", selector.get("pool"), pool_name)
    faults.optional_name("spec.deviceSelector.device", selector.get("device"), dns_label)
    check_device_taint(faults, "spec.taint", mapping(spec.get("taint")))
    for name in ("deviceClassName", "selectors"):
        if given(selector.get(name)):
            faults.warn(f"spec.deviceSelector.{name}", "it was dropped in 1.35 and has no effect; remove it")


def check_claim_spec(faults: Faults, field: str, spec: Mapping[str, object], *, flat: bool) -> None:
    """`flat`: v1beta1, whose requests hold the fields of `exactly` themselves (§1.14)."""
    devices = mapping(spec.get("devices"))
    requests, constraints = sequence(devices.get("requests")), sequence(devices.get("constraints"))
    path = f"{field}.devices"
    faults.at_most(f"{path}.requests", requests, 32)
    for at, request in numbered(requests, f"{path}.requests"):
        _check_request(faults, at, request, flat=flat)
    faults.unique(f"{path}.requests", (text(mapping(each).get("name")) for each in requests), "request")
    faults.at_most(f"{path}.constraints", constraints, 32)
    names = _reference_names(requests)
    for at, constraint in numbered(constraints, f"{path}.constraints"):
        _check_constraint(faults, at, constraint, names)
    configs = sequence(devices.get("config"))
    faults.at_most(f"{path}.config", configs, 32)
    for at, config in numbered(configs, f"{path}.config"):
        _check_references(faults, f"{at}.requests", sequence(config.get("requests")), names)


def _check_request(faults: Faults, field: str, request: Mapping[str, object], *, flat: bool) -> None:
    faults.name(f"{field}.name", request.get("name"), dns_label)
    alternatives = sequence(request.get("firstAvailable"))
    exact = request if flat else mapping(request.get("exactly"))
    has_exact = any(given(request.get(name)) for name in _FLAT_FIELDS) if flat else "exactly" in request
    if has_exact == bool(alternatives):
        which = "deviceClassName" if flat else "exactly"
        faults.add(field, f"exactly one of {which} and firstAvailable must be set; keep one")
        return
    if has_exact:
        _check_exact(faults, field if flat else f"{field}.exactly", exact)
    faults.at_most(f"{field}.firstAvailable", alternatives, 8)
    for at, alternative in numbered(alternatives, f"{field}.firstAvailable"):
        faults.name(f"{at}.name", alternative.get("name"), dns_label)
        _check_exact(faults, at, alternative)
    names = (text(mapping(each).get("name")) for each in alternatives)
    faults.unique(f"{field}.firstAvailable", names, "alternative")


def _check_exact(faults: Faults, field: str, exact: Mapping[str, object]) -> None:
    faults.name(f"{field}.deviceClassName", exact.get("deviceClassName"), dns_subdomain)
    _check_selectors(faults, f"{field}.selectors", sequence(exact.get("selectors")))
    mode, count = text(exact.get("allocationMode")), exact.get("count")
    if mode:
        faults.one_of(f"{field}.allocationMode", mode, ("ExactCount", "All"))
    if whole(count) < 0:
        faults.add(f"{field}.count", "it is negative; write how many devices are wanted")
    if mode == "All" and whole(count):
        faults.add(f"{field}.count", "with allocationMode All it must be absent; remove it")
    tolerations = sequence(exact.get("tolerations"))
    for at, toleration in numbered(tolerations, f"{field}.tolerations"):
        check_toleration(faults, at, toleration)
    for name in mapping(mapping(exact.get("capacity")).get("requests")):
        if reason := qualified_name(name):
            faults.add(f"{field}.capacity.requests[{name[:80]}]", reason)
    faults.at_most(f"{field}.derivedAttributes", sequence(exact.get("derivedAttributes")), 8)


def _check_selectors(faults: Faults, field: str, selectors: Sequence[object]) -> None:
    faults.at_most(field, selectors, 32)
    for at, selector in numbered(selectors, field):
        expression = text(mapping(selector.get("cel")).get("expression"))
        if not expression.strip():
            faults.add(f"{at}.cel.expression", "it is missing; write a CEL expression over device")
        elif len(expression.encode()) > _MOST_EXPRESSION:
            faults.add(f"{at}.cel.expression", f"it is longer than {_MOST_EXPRESSION} bytes; shorten it")


def _check_constraint(faults: Faults, field: str, constraint: Mapping[str, object], names: frozenset[str]) -> None:
    """Both attributes at once pass the API server; then only matchAttribute counts (§1.9)."""
    _check_references(faults, f"{field}.requests", sequence(constraint.get("requests")), names)
    attributes = [name for name in ("matchAttribute", "distinctAttribute") if given(constraint.get(name))]
    if not attributes:
        faults.add(field, "one of matchAttribute and distinctAttribute must be set; write one")
    for name in attributes:
        faults.name(f"{field}.{name}", constraint.get(name), fully_qualified_name)
    if len(attributes) == 2:
        faults.warn(f"{field}.distinctAttribute", "it has no effect beside matchAttribute; write two constraints")


def _check_references(faults: Faults, field: str, references: Sequence[object], names: frozenset[str]) -> None:
    for index, reference in enumerate(references):
        if text(reference) not in names:
            faults.add(f"{field}[{index}]", f"there is no request {text(reference)!r} in this claim; correct the name")


def _reference_names(requests: Sequence[object]) -> frozenset[str]:
    """`req`, and `req/sub` for each alternative (§1.9)."""
    names: set[str] = set()
    for request in map(mapping, requests):
        name = text(request.get("name"))
        names.add(name)
        names.update(f"{name}/{text(mapping(each).get('name'))}" for each in sequence(request.get("firstAvailable")))
    return frozenset(names)


def _request_reference(written: str) -> str:
    return next((reason for part in written.split("/", 1) if (reason := dns_label(part))), "")


def _is_v1beta1(obj: Mapping[str, object]) -> bool:
    return text(obj.get("apiVersion")).endswith("/v1beta1")
