"""Claims against one shape: every question that does not depend on what is taken, answered as sets of devices.

Plans are interned by their content, so nodes whose devices differ in what the claims do not ask for (serial numbers,
addresses) share the plan and its remembered answers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from muster_dra.capacity import fits
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.features import Release
from muster_dra.objects.slices import Device
from muster_dra.objects.taints import untolerated
from muster_dra.outline import Plan
from muster_dra.plan_content import Choice, PlanContent, PlannedRequest, bits_of
from muster_dra.prepare import Mode, PreparedConstraint
from muster_dra.shapes import Shape
from muster_dra.tables import ConstraintTable, constraint_table
from muster_dra.weighing import Purse, Weighing

_REMEMBERED_SHAPES = 16384


class PlanTable:
    """The plans of one set of claims."""

    __slots__ = ("_by_content", "_by_shape", "_read_further", "compiled")

    def __init__(self, compiled: CompiledClaims) -> None:
        self.compiled = compiled
        self._by_shape: dict[int, tuple[Shape, Plan]] = {}
        self._by_content: dict[PlanContent, Plan] = {}
        self._read_further: dict[tuple[int, int], Plan] = {}

    def plan(self, shape: Shape) -> Plan:
        """The plan for a shape, found by the shape's identity."""
        known = self._by_shape.get(id(shape))
        if known is not None:
            return known[1]
        found = self._made(shape, 1)
        if len(self._by_shape) >= _REMEMBERED_SHAPES:
            self._by_shape.clear()
            self._by_content.clear()
            self._read_further.clear()
        self._by_shape[id(shape)] = shape, found
        return found

    def plan_read_to(self, shape: Shape, errors: int) -> Plan:
        """As `plan`, where costly selectors are asked until they failed on so many devices of a body."""
        self.plan(shape)  # keeps the shape alive, and its identity its own
        found = self._read_further.get((id(shape), errors))
        if found is None:
            found = self._read_further[id(shape), errors] = self._made(shape, errors)
        return found

    def _made(self, shape: Shape, errors: int) -> Plan:
        content = plan_content(self.compiled, shape, errors)
        found = self._by_content.get(content)
        if found is None:
            found = self._by_content[content] = Plan(content)
        return found


def plan_content(compiled: CompiledClaims, shape: Shape, errors_read: int = 1) -> PlanContent:
    """Everything the search needs to know of these claims on this shape."""
    features, purse = compiled.features, Purse()
    known_tables: dict[PreparedConstraint, ConstraintTable] = {}
    for constraint in compiled.constraints:
        if constraint not in known_tables:
            known_tables[constraint] = constraint_table(
                [value for part in shape.parts for value in compiled.attributes(constraint.attribute, part.body)],
                constraint.distinct,
                features.list_type_attributes,
            )
    tables = tuple(known_tables[constraint] for constraint in compiled.constraints)
    known: dict[object, Choice] = {}
    requests = tuple(
        PlannedRequest(
            request.claim,
            request.opens_claim,
            tuple(_choice(ask, compiled, shape, tables, known, purse, errors_read) for ask in request.asks),
        )
        for request in compiled.requests
    )
    takers = sorted({device for request in requests for choice in request.choices for device, _ in choice.takes})
    totals = tuple(
        (device, tuple(capacity.value.nano for capacity in shape.devices[device].capacity.values()))
        for device in takers
    )
    layout = shape.counters
    negative = any(
        amount < 0
        for request in requests
        for choice in request.choices
        for _, amounts in choice.takes
        for amount in amounts
    )
    return PlanContent(
        shape.size,
        requests,
        tables,
        shape.shared,
        totals,
        layout.draws if layout is not None else (),
        layout.drawing if layout is not None else 0,
        tuple(layout.of_pool[pool] for pool in shape.pool_of) if layout is not None else (),
        layout.sets if layout is not None else (),
        negative or (layout is not None and layout.negative),
        not features.strict,
        not features.strict,
        features.release is Release.V1_36,
    )


def _choice(
    ask: Ask,
    compiled: CompiledClaims,
    shape: Shape,
    tables: tuple[ConstraintTable, ...],
    known: dict[object, Choice],
    purse: Purse,
    errors_read: int,
) -> Choice:
    """As for an ask that wants the same, if there was one, but for the constraints' numbers."""
    first = tuple(sorted({tables[constraint].first for constraint in ask.constraints}))
    key = (ask.wants, first)
    found = known.get(key)
    if found is None:
        found = known[key] = _worked_out(ask, compiled, shape, tables, purse, errors_read)
    return found if found.constraints == ask.constraints else replace(found, constraints=ask.constraints)


def _worked_out(
    ask: Ask,
    compiled: CompiledClaims,
    shape: Shape,
    tables: tuple[ConstraintTable, ...],
    purse: Purse,
    errors_read: int,
) -> Choice:
    features, wanted = compiled.features, ask.option.wanted
    selected = errors = unread = 0
    for part in shape.parts:
        answer = compiled.selected(ask, part.body)
        if isinstance(answer, Weighing):
            answer = purse.ask(answer, errors_read)
            unread |= answer.unread << part.offset
        selected |= (answer.selected & part.here) << part.offset
        errors |= (answer.errors | answer.unread | (answer.selected & part.unreadable)) << part.offset
    refused = 0
    if features.device_taints:
        refused |= _where(shape, selected, lambda device: untolerated(device.taints, wanted.tolerations) is not None)
    if not features.partitionable_devices:
        refused |= _where(shape, selected, lambda device: bool(device.consumes))
    candidates = selected & ~refused
    for constraint in ask.constraints:
        candidates &= tables[constraint].first
    capacity = _capacity_sets(ask, compiled, shape, selected) if features.consumable_capacity else _Capacity(-1, -1, ())
    every = ask.option.mode is Mode.ALL
    # "All" is every selected device that could give the amounts by its total; what is left comes later (D6).
    members = selected & capacity.possible & capacity.within if every else 0
    candidates = 0 if every else candidates & capacity.possible
    return Choice(
        candidates,
        candidates & ~capacity.within,
        errors,
        members.bit_count() if every else ask.option.count,
        every,
        tuple(bits_of(members)),
        refused & members,
        ask.option.admin,
        ask.constraints,
        capacity.takes,
        unread,
    )


@dataclass(frozen=True, slots=True)
class _Capacity:
    """`possible`: devices that have what is named and whose policy allows it; `within`: not more than their total."""

    possible: int
    within: int
    takes: tuple[tuple[int, tuple[int, ...]], ...]


def _capacity_sets(ask: Ask, compiled: CompiledClaims, shape: Shape, selected: int) -> _Capacity:
    possible = within = 0
    takes: list[tuple[int, tuple[int, ...]]] = []
    for part in shape.parts:
        for index, amounts in enumerate(compiled.giving(ask, part.body)):
            device = part.offset + index
            if amounts is None or not selected >> device & 1:
                continue
            possible |= 1 << device
            within |= fits(part.body.devices[index], amounts, {}) << device
            if shape.shared >> device & 1:
                takes.append((device, tuple(amount.nano for amount in amounts.values())))
    return _Capacity(possible, within, tuple(takes))


def _where(shape: Shape, among: int, holds: Callable[[Device], bool]) -> int:
    return sum(1 << index for index in bits_of(among) if holds(shape.devices[index]))
