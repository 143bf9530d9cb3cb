"""Claims made ready once for many nodes: requests in a row, selectors compiled, what bodies answered remembered."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from muster_dra.amounts import Amount
from muster_dra.attributes import Attribute, lookup
from muster_dra.blueprints import Blueprint
from muster_dra.capacity import amounts_taken
from muster_dra.features import Features
from muster_dra.found import Solution
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.classes import DeviceClass
from muster_dra.outcome import Fatal
from muster_dra.prepare import PreparedClaim, PreparedConstraint, PreparedOption, prepare
from muster_dra.selectors import CompiledSelectors, SelectorError, compile_selectors, environment_of, is_plain
from muster_dra.shapes import Body, Shape
from muster_dra.weighing import Answer, Weighing

Giving = tuple[Mapping[str, Amount] | None, ...]
"""What each device of a body gives a request; None: never."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One option of one request. `constraints` number the constraints of all claims together.

    `wants`: equal for options that want the same, whatever they are called.
    """

    option: PreparedOption
    claim: int
    selectors: CompiledSelectors
    constraints: tuple[int, ...]
    wants: Hashable


@dataclass(frozen=True, slots=True, eq=False)
class AskedRequest:
    claim: int
    opens_claim: bool
    """Whether it is the first of its claim."""
    asks: tuple[Ask, ...]


@dataclass(slots=True, eq=False)
class _Answers:
    """What one body answered to these claims so far."""

    selected: dict[tuple[tuple[str, str], ...], Answer | Weighing] = field(default_factory=dict)
    giving: dict[object, Giving] = field(default_factory=dict)
    attributes: dict[str, tuple[Attribute | None, ...]] = field(default_factory=dict)


class CompiledClaims:
    """Immutable but for what it remembers. Made by `compile_claims`."""

    __slots__ = ("__weakref__", "_answers", "blueprints", "claims", "constraints", "features", "requests")

    def __init__(self, claims: tuple[PreparedClaim, ...], features: Features) -> None:
        self.claims, self.features = claims, features
        environment = environment_of(features)
        constraints: list[PreparedConstraint] = []
        requests: list[AskedRequest] = []
        for index, claim in enumerate(claims):
            base = len(constraints)
            constraints += claim.constraints
            for position, request in enumerate(claim.requests):
                asks = tuple(
                    Ask(
                        option,
                        index,
                        compile_selectors(option.expressions, environment),
                        tuple(base + constraint for constraint in option.constraints),
                        _wants(option),
                    )
                    for option in request.options
                )
                requests.append(AskedRequest(index, position == 0, asks))
        self.constraints, self.requests = tuple(constraints), tuple(requests)
        self.blueprints: dict[int, tuple[Solution, Shape, Blueprint]] = {}
        """What solutions look like on a shape; kept by allocations.py."""
        self._answers: WeakKeyDictionary[Body, _Answers] = WeakKeyDictionary()

    @property
    def needs_reference(self) -> bool:
        """Whether the answer depends on what only the reference search follows.

        A release's defect makes it depend on the search's past, or a request derives attributes (KEP-6080).
        """
        if self.features.derived_attributes and any(
            ask.option.wanted.derived for request in self.requests for ask in request.asks
        ):
            return True
        return self.features.forgetful_distinct and any(constraint.distinct for constraint in self.constraints)

    def selected(self, ask: Ask, body: Body) -> Answer | Weighing:
        """The body's devices that the selectors let through or fail on; to be weighed where that may cost much."""
        answers = self._of(body)
        found = answers.selected.get(ask.option.expressions)
        if found is None:
            found = answers.selected[ask.option.expressions] = self._evaluate(ask, body)
        return found

    def giving(self, ask: Ask, body: Body) -> Giving:
        """What each device of the body gives the request of its capacity."""
        wanted = ask.option.wanted.capacity or {}
        key = tuple((name, amount.text) for name, amount in wanted.items())
        giving = self._of(body).giving
        if key not in giving:
            giving[key] = tuple(amounts_taken(device, body.driver, wanted, self.features) for device in body.devices)
        return giving[key]

    def attributes(self, attribute: str, body: Body) -> tuple[Attribute | None, ...]:
        """The value of a constraint's attribute on each device of the body."""
        known = self._of(body).attributes
        if attribute not in known:
            known[attribute] = tuple(lookup(device.attributes, body.driver, attribute) for device in body.devices)
        return known[attribute]

    def _of(self, body: Body) -> _Answers:
        answers = self._answers.get(body)
        if answers is None:
            answers = self._answers[body] = _Answers()
        return answers

    def _evaluate(self, ask: Ask, body: Body) -> Answer | Weighing:
        selected = errors = 0
        beyond = ask.selectors.beyond_driver(body.driver)
        evaluated = beyond is not None and beyond.selectors
        if not ask.selectors.light() or (evaluated and not all(view.frame().within_limits for view in body.views)):
            return self._weighing(ask, body)
        for index, (device, view) in enumerate(zip(body.devices, body.views, strict=True)):
            if device.binding_conditions and not self.features.binding_conditions:
                continue
            if is_plain(device):
                found = beyond.match(view) if beyond is not None else False
            else:
                found = ask.selectors.match(view)
            if isinstance(found, SelectorError):
                errors |= 1 << index
            elif found:
                selected |= 1 << index
        return Answer(selected, errors)

    def _weighing(self, ask: Ask, body: Body) -> Weighing:
        return Weighing(
            ask.selectors,
            [
                (index, view)
                for index, (device, view) in enumerate(zip(body.devices, body.views, strict=True))
                if self.features.binding_conditions or not device.binding_conditions
            ],
        )


def _wants(option: PreparedOption) -> Hashable:
    capacity = option.wanted.capacity or {}
    return (
        tuple(expression for _, expression in option.expressions),
        option.mode,
        option.count,
        option.admin,
        option.wanted.tolerations,
        tuple(capacity.items()),
    )


def compile_claims(
    claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass], features: Features
) -> CompiledClaims | Fatal:
    """The claims ready for any node, or what makes them fatal on every node."""
    prepared = prepare(claims, classes, features)
    return prepared if isinstance(prepared, Fatal) else CompiledClaims(prepared, features)
