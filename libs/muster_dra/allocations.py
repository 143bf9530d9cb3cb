"""From a solution, which is numbers, to the allocation of each claim on one node."""

from collections.abc import Mapping

from muster_dra.amounts import Amount
from muster_dra.blueprints import Blueprint, ClaimLines, Line
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.found import Solution
from muster_dra.objects.node_selectors import NodeSelector
from muster_dra.outcome import Allocation, ClaimAllocation, DeviceResult, Fatal, FatalKind
from muster_dra.results import PINNED, SEVERAL_TERMS, allocated_config, node_selector, place_of
from muster_dra.shapes import Shape
from muster_dra.views import NodeView, Slot
from muster_types import DeviceId

_NOTHING: Mapping[str, Amount] = {}


def allocation(found: Solution, compiled: CompiledClaims, view: NodeView) -> Allocation | Fatal:
    """The allocation on a node. Fatal: a device is bound to nodes by a selector of several terms."""
    blueprint = _blueprint(found, compiled, view.shape)
    selectors: list[NodeSelector | None] = []
    for claim, planned in zip(compiled.claims, blueprint, strict=True):
        slots = [view.slot(line.device) for line in planned.lines]
        selector = node_selector((place_of(slot.slice, slot.device), slot.device.binds_to_node) for slot in slots)
        if selector is SEVERAL_TERMS:
            wide = ", ".join(str(slot.pool.id.device(slot.device.name)) for slot in slots if _has_terms(slot))
            bound = f"{wide or 'a device'} is bound to nodes by a selector with several terms"
            return Fatal(FatalKind.NODE_SELECTOR_TERMS, f"claim {claim.claim.full_name}: {bound}")
        selectors.append(view.pinned if selector is PINNED else selector)
    return Allocation(_written(blueprint, selectors, view))


def _has_terms(slot: Slot) -> bool:
    selector = place_of(slot.slice, slot.device).selector
    return selector is not None and len(selector.terms) > 1


def claim_allocations(found: Solution, compiled: CompiledClaims, view: NodeView) -> tuple[ClaimAllocation, ...]:
    """As `allocation`, where every device is bound to the node by name or to none."""
    blueprint = _blueprint(found, compiled, view.shape)
    local = [any(_is_local(view, line) for line in planned.lines) for planned in blueprint]
    return _written(blueprint, [view.pinned if pinned else None for pinned in local], view)


def _is_local(view: NodeView, line: Line) -> bool:
    slot = view.slot(line.device)
    return bool(slot.slice.place.node_name) or slot.device.binds_to_node


def _written(blueprint: Blueprint, selectors: list[NodeSelector | None], view: NodeView) -> tuple[ClaimAllocation, ...]:
    pools = view.pools
    return tuple(
        [
            ClaimAllocation(
                tuple(
                    [
                        DeviceResult(
                            line.request,
                            DeviceId(line.driver, pools[line.pool].id.name, line.name),
                            line.admin,
                            line.share,
                            line.consumed,
                            line.tolerations,
                            line.binding,
                            line.failure,
                            _skipped(view, line.device),
                        )
                        for line in planned.lines
                    ]
                ),
                selector,
                planned.config,
            )
            for planned, selector in zip(blueprint, selectors, strict=True)
        ]
    )


def _skipped(view: NodeView, device: int) -> tuple[str, ...]:
    return view.slot(device).slice.skip_node_operations if view.skips else ()


def _blueprint(found: Solution, compiled: CompiledClaims, shape: Shape) -> Blueprint:
    """Remembered with the shape the solution was last written for: equal nodes come in rows."""
    known = compiled.blueprints.get(id(found))
    if known is None or known[0] is not found or known[1] is not shape:
        if len(compiled.blueprints) >= 1024:
            compiled.blueprints.clear()
        known = compiled.blueprints[id(found)] = found, shape, _worked_out(found, compiled, shape)
    return known[2]


def _worked_out(found: Solution, compiled: CompiledClaims, shape: Shape) -> Blueprint:
    chosen = [request.asks[option] for request, (option, _) in zip(compiled.requests, found.picks, strict=True)]
    planned: list[ClaimLines] = []
    for number, claim in enumerate(compiled.claims):
        lines = [
            _line(ask, device, compiled, shape)
            for ask, (_, devices) in zip(chosen, found.picks, strict=True)
            if ask.claim == number
            for device in devices
        ]
        options = [ask.option for ask in chosen if ask.claim == number]
        planned.append(ClaimLines(tuple(lines), allocated_config(claim, options, compiled.features)))
    return tuple(planned)


def _line(ask: Ask, number: int, compiled: CompiledClaims, shape: Shape) -> Line:
    device, part = shape.devices[number], shape.parts[shape.part_of[number]]
    share = bool(shape.shared >> number & 1)
    consumed = compiled.giving(ask, part.body)[number - part.offset] if share else None
    return Line(
        number,
        shape.pool_of[number],
        part.body.driver,
        device.name,
        ask.option.full_name,
        ask.option.admin,
        share,
        consumed or _NOTHING,
        ask.option.wanted.tolerations,
        device.binding_conditions or (),
        device.binding_failure_conditions or (),
    )
