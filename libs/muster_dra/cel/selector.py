"""Compiled selectors: compile once, match many devices."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from muster_dra.cel.bounds import highest_cost
from muster_dra.cel.build import build
from muster_dra.cel.checker import Checked, TypeCheckFailed, check
from muster_dra.cel.constants import ConstantFailed
from muster_dra.cel.device import DeviceView, Frame
from muster_dra.cel.environment import DEFAULT, CelEnvironment
from muster_dra.cel.parse import parse
from muster_dra.cel.plan import SPENT, Evaluate, Plan, blank_of
from muster_dra.cel.tokens import ParseFailed
from muster_dra.cel.types import BOOL, DYN, INT, STRING, Type, list_of, parse_type
from muster_dra.cel.validate import Invalid, validate
from muster_dra.cel.values import LIMIT, Aborted, EvalError, Value, type_name

_CACHED = 4096
_LIGHT = LIMIT // 500
"""An expression that can't cost more is not worth counting; hardly one in use does."""


class CelErrorKind(StrEnum):
    """Whether the expression is wrong, or its evaluation on a device failed."""

    COMPILE = "compile error"
    RUNTIME = "runtime error"


@dataclass(frozen=True, slots=True)
class CelError:
    """Why there is no answer; the kinds are those of upstream, the text is our own."""

    kind: CelErrorKind
    message: str


class _Plans:
    """The plans of one expression: one that counts its cost, and one that need not where the cost is bounded."""

    __slots__ = ("_checked", "_counting", "_plain", "light")

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        cost = highest_cost(checked)
        self.light = cost <= _LIGHT
        self._plain = build(checked, metered=False) if cost <= LIMIT else None
        self._counting = build(checked, metered=True) if self._plain is None else None

    def of(self, frame: Frame) -> Plan:
        """The cheapest plan that is right for a device."""
        if self._plain is not None and frame.within_limits:
            return self._plain
        return self.counting()

    def counting(self) -> Plan:
        """The plan that counts its cost."""
        if self._counting is None:
            self._counting = build(self._checked, metered=True)
        return self._counting

    def direct(self) -> tuple[Evaluate | None, tuple[object, ...]]:
        """The plain plan as a function of frames, if it needs no more than that, and the end of such a frame."""
        plain = self._plain
        if plain is None or plain.changes_quantities:
            return None, ()
        return plain.run, blank_of(plain.slots) if plain.slots else ()


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled expression; equal to every other of the same expression and environment."""

    expression: str
    environment: CelEnvironment
    _plans: _Plans = field(compare=False, repr=False)
    _direct: Evaluate | None = field(compare=False, repr=False)  # spares most selectors the way through the plans
    _blank: tuple[object, ...] = field(compare=False, repr=False)  # what a frame has after the fields of the device

    def matches(self, device: DeviceView) -> bool | CelError:
        """Whether the device is selected; a runtime error is a value (dra-semantics §4.3: FATAL for the attempt)."""
        value = self.value(device)
        return value if value is True or value is False else _as_bool(value)

    @property
    def light(self) -> bool:
        """Whether the cost on a device within the limits of the API is too small to be counted."""
        return self._plans.light

    def weigh(self, device: DeviceView) -> tuple[bool | CelError, int]:
        """As `matches`, with the cost in the units of dra-semantics §4.4; 0 where it is not worth counting."""
        frame = device.frame()
        if (self.light and frame.within_limits) or self._refused(frame):
            return self.matches(device), 0
        plan = self._plans.counting()
        cells = plan.frame(frame.fields)
        try:
            value = plan.run(cells)
        except (EvalError, Aborted) as error:
            return CelError(CelErrorKind.RUNTIME, str(error)), cells[SPENT]
        except RecursionError:
            return _too_deep(), cells[SPENT]
        return _as_bool(value), cells[SPENT]

    def value(self, device: DeviceView) -> Value | CelError:
        """The value on the device; a runtime error is a value."""
        frame = device.frame()
        direct = self._direct
        fields = frame.ready
        try:
            if direct is not None and fields is not None:
                blank = self._blank
                return direct([*fields, *blank] if blank else fields)
            return self._evaluate(frame)
        except (EvalError, Aborted) as error:
            return CelError(CelErrorKind.RUNTIME, str(error))
        except RecursionError:
            return _too_deep()

    def _evaluate(self, frame: Frame) -> Value:
        if reason := self._refused(frame):
            raise EvalError(reason)
        return self._plans.of(frame).evaluate(frame.fields)

    def _refused(self, frame: Frame) -> str:
        """Why nothing can be evaluated on the device; empty if it can."""
        if not frame.unreadable and frame.lists and not self.environment.reads_lists:
            return "unsupported attribute value: a list, with the gate DRAListTypeAttributes off"
        return frame.unreadable


def _as_bool(value: Value | CelError) -> bool | CelError:
    if value is True or value is False or isinstance(value, CelError):
        return value
    return CelError(CelErrorKind.RUNTIME, f"CEL result of type {type_name(value)} could not be converted to bool")


def _too_deep() -> CelError:
    return CelError(CelErrorKind.RUNTIME, "the expression is nested too deeply to be evaluated")


def compile_selector(expression: str, environment: CelEnvironment = DEFAULT) -> Selector | CelError:
    """The selector of an expression, or the reason why it has none. Cached: an expression is compiled once."""
    return _shallow(expression, environment, (BOOL, environment.attribute_type))


def compile_attribute(expression: str, environment: CelEnvironment = DEFAULT) -> Selector | CelError:
    """An expression whose `value` is that of an attribute: a scalar, a version, or a list of one (KEP-6080)."""
    return _shallow(expression, environment, (environment.attribute_type, *_ATTRIBUTES))


_SCALARS = (BOOL, INT, STRING, parse_type("kubernetes.Semver"))
_ATTRIBUTES = (*_SCALARS, *map(list_of, _SCALARS), list_of(DYN))


def _shallow(expression: str, environment: CelEnvironment, results: tuple[Type, ...]) -> Selector | CelError:
    try:
        return _compile(expression, environment, results)
    except RecursionError:  # depends on the caller's stack: not cached
        return CelError(CelErrorKind.COMPILE, "the expression is nested too deeply to be compiled")


@lru_cache(_CACHED)
def _compile(expression: str, environment: CelEnvironment, results: tuple[Type, ...]) -> Selector | CelError:
    try:
        checked = check(parse(expression), environment.variables, environment.messages)
        result = checked.type_at(checked.root)
        if result not in results:
            wanted = "bool or the type of an attribute" if len(results) == 2 else "a value that an attribute can have"
            raise TypeCheckFailed(f"must evaluate to {wanted}, not {result}")
        validate(checked)
        plans = _Plans(checked)
    except (ParseFailed, TypeCheckFailed, Invalid, ConstantFailed) as error:
        return CelError(CelErrorKind.COMPILE, str(error))
    direct, blank = plans.direct() if environment.reads_lists else (None, ())
    return Selector(expression, environment, plans, direct, blank)
