"""Compiled selectors: compile once, match many devices."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from muster_dra.cel.bounds import stays_below_limit
from muster_dra.cel.build import build
from muster_dra.cel.checker import Checked, TypeCheckFailed, check
from muster_dra.cel.constants import ConstantFailed
from muster_dra.cel.device import DeviceView, Frame
from muster_dra.cel.environment import DEFAULT, CelEnvironment
from muster_dra.cel.parse import parse
from muster_dra.cel.plan import Evaluate, Plan, blank_of
from muster_dra.cel.tokens import ParseFailed
from muster_dra.cel.types import BOOL, DYN, INT, STRING, Type, list_of, parse_type
from muster_dra.cel.validate import Invalid, validate
from muster_dra.cel.values import Aborted, EvalError, Value, type_name

_CACHED = 4096


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

    __slots__ = ("_checked", "_counting", "_plain")

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._plain = build(checked, metered=False) if stays_below_limit(checked) else None
        self._counting = build(checked, metered=True) if self._plain is None else None

    def of(self, frame: Frame) -> Plan:
        """The cheapest plan that is right for a device."""
        if self._plain is not None and frame.within_limits:
            return self._plain
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
        if value is True or value is False or isinstance(value, CelError):
            return value
        return CelError(CelErrorKind.RUNTIME, f"CEL result of type {type_name(value)} could not be converted to bool")

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
            return CelError(CelErrorKind.RUNTIME, "the expression is nested too deeply to be evaluated")

    def _evaluate(self, frame: Frame) -> Value:
        if frame.unreadable:
            raise EvalError(frame.unreadable)
        if frame.lists and not self.environment.reads_lists:
            raise EvalError("unsupported attribute value: a list, with the gate DRAListTypeAttributes off")
        return self._plans.of(frame).evaluate(frame.fields)


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
