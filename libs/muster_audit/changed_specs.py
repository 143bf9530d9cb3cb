"""Claims as they would be with one thing changed: a literal, a toleration, an attribute."""

from collections.abc import Callable
from dataclasses import replace

from muster_audit.expressions import Comparison
from muster_dra import ClaimSpec, DeviceRequest, DeviceToleration


def with_literal(comparison: Comparison, value: str) -> Comparison | None:
    """The comparison with another literal of the same type."""
    literal = comparison.literal
    if isinstance(literal, bool):
        return replace(comparison, literal=value == "true") if value in ("true", "false") else None
    if isinstance(literal, int):
        return replace(comparison, literal=int(value)) if value.lstrip("-").isdigit() else None
    return replace(comparison, literal=value) if isinstance(literal, str) else None


def with_selector(spec: ClaimSpec, old: Comparison, new: Comparison) -> ClaimSpec:
    """Every selector that holds the old literal with the new one in its place."""

    def changed(request: DeviceRequest) -> DeviceRequest:
        selectors = tuple(
            each.replace(old.written, new.written) if each is not None and old.mention.name in each else each
            for each in request.selectors
        )
        return replace(request, selectors=selectors)

    return _each_request(spec, changed)


def tolerant(spec: ClaimSpec, request: str, extra: tuple[DeviceToleration, ...]) -> ClaimSpec:
    name = request.split("/", maxsplit=1)[0]
    return replace(
        spec,
        requests=tuple(
            replace(
                each,
                exactly=None if each.exactly is None else _with_tolerations(each.exactly, extra),
                first_available=tuple(_with_tolerations(option, extra) for option in each.first_available),
            )
            if each.name == name
            else each
            for each in spec.requests
        ),
    )


def _with_tolerations(request: DeviceRequest, extra: tuple[DeviceToleration, ...]) -> DeviceRequest:
    return replace(request, tolerations=(*request.tolerations, *extra))


def with_attribute(spec: ClaimSpec, old: str, new: str) -> ClaimSpec:
    constraints = tuple(
        replace(each, match_attribute=new)
        if each.match_attribute == old
        else replace(each, distinct_attribute=new)
        if each.distinct_attribute == old
        else each
        for each in spec.constraints
    )
    return replace(spec, constraints=constraints)


def _each_request(spec: ClaimSpec, change: Callable[[DeviceRequest], DeviceRequest]) -> ClaimSpec:
    return replace(
        spec,
        requests=tuple(
            replace(
                each,
                exactly=None if each.exactly is None else change(each.exactly),
                first_available=tuple(map(change, each.first_available)),
            )
            for each in spec.requests
        ),
    )
