"""Short cuts for what selectors mostly do: read an attribute of the device, compare it with a constant.

They give the same answers as the general functions, which they fall back to for anything unexpected.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from muster_dra.cel import access
from muster_dra.cel.constants import Constants
from muster_dra.cel.device import ATTRIBUTES, CAPACITY, FIELDS
from muster_dra.cel.functions import GLOBAL, METHODS, Implementation
from muster_dra.cel.plan import Evaluate, Frame
from muster_dra.cel.quantities import Quantity
from muster_dra.cel.syntax import Call, Expr, Literal, Select
from muster_dra.cel.values import Value, equals
from muster_dra.cel.versions import Semver

Path = tuple[int, str, str]
"""The field of the device, the domain, the name: `device.attributes["d"].x`."""

Holds = Callable[[Any, Any], bool]  # a comparison of Python's, applied to two values of one ordered type only

_ORDER: dict[str, Holds] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_METHODHolds = Callable[[Any, Any], bool]  # a comparison of Python's, applied to two values of one ordered type only

_METHOD_ORDER: dict[str, Holds] = {"isGreaterThan": operator.gt, "isLessThan": operator.lt}


def _step(node: Expr, *, optional: bool = False) -> tuple[Expr, str] | None:
    """(what is selected from, the constant name selected), if the node is such a selection."""
    if isinstance(node, Select) and not node.test and not optional:
        return node.operand, node.field
    if isinstance(node, Call) and node.function in (("_?._", "_[?_]") if optional else ("_[_]",)):
        key = node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return node.args[0], key.value
    return None


def path_of(node: Expr, is_device: Callable[[Expr], bool], *, optional: bool = False) -> Path | None:
    """The path that a node reads, if it reads one attribute or capacity by constant names; `optional`: with `.?`."""
    name = _step(node, optional=optional)
    domain = _step(name[0]) if name is not None else None
    field = _step(domain[0]) if domain is not None else None
    if name is None or domain is None or field is None or not is_device(field[0]):
        return None
    at = FIELDS.get(field[1], -1)
    return (at, domain[1], name[1]) if at in (ATTRIBUTES, CAPACITY) else None


def lookup(path: Path) -> Evaluate:
    """Reads one attribute or capacity."""
    at, domain, name = path

    def run(frame: Frame) -> Value:
        try:
            return frame[at][domain][name]
        except KeyError:
            raise access.no_such_key(name) from None

    return run


def lookup_or(path: Path, default: Evaluate) -> Evaluate:
    """Reads one attribute or capacity, or what stands in for it: `device.attributes["d"].?x.orValue(default)`."""
    at, domain, name = path

    def run(frame: Frame) -> Value:
        held = frame[at][domain]
        return held[name] if name in held else default(frame)

    return run


def get(operand: Evaluate, name: str) -> Evaluate:
    """`operand.name`."""

    def run(frame: Frame) -> Value:
        holder = operand(frame)
        if type(holder) is dict and name in holder:
            return holder[name]
        return access.get(holder, name)

    return run


def comparison(name: str, args: Sequence[Evaluate], operands: Sequence[Expr], constants: Constants) -> Evaluate | None:
    """A comparison with a constant of a plain kind without a detour; None for any other call."""
    if len(args) != 2:
        return None
    known = constants.value_of(operands[1], fold_calls=True)
    if known is None:
        return None
    wanted = known.value
    if name == "_==_" and type(wanted) in (str, int):
        return _equal_to(args[0], wanted)
    if name in _ORDER and type(wanted) in (str, int):
        return _ordered(args[0], wanted, _ORDER[name], GLOBAL[name])
    if name in _METHOD_ORDER and isinstance(wanted, Semver):
        return _version_order(args[0], wanted, _METHOD_ORDER[name], METHODS[name])
    if name in _METHOD_ORDER and isinstance(wanted, Quantity):
        return _quantity_order(args[0], wanted, _METHOD_ORDER[name], METHODS[name])
    if name == "compareTo" and isinstance(wanted, Quantity):
        return _quantity_comparison(args[0], wanted, METHODS[name])
    return None


def _equal_to(left: Evaluate, wanted: Value) -> Evaluate:
    kind = type(wanted)

    def run(frame: Frame) -> Value:
        value = left(frame)
        return value == wanted if type(value) is kind else equals(value, wanted)

    return run


def _ordered(left: Evaluate, wanted: Value, holds: Holds, general: Implementation) -> Evaluate:
    kind = type(wanted)

    def run(frame: Frame) -> Value:
        value = left(frame)
        return holds(value, wanted) if type(value) is kind else general(value, wanted)

    return run


def _version_order(left: Evaluate, wanted: Semver, holds: Holds, general: Implementation) -> Evaluate:
    order = wanted.order

    def run(frame: Frame) -> Value:
        value = left(frame)
        return holds(value.order, order) if isinstance(value, Semver) else general(value, wanted)

    return run


def _quantity_order(left: Evaluate, wanted: Quantity, holds: Holds, general: Implementation) -> Evaluate:
    nano = wanted.nano

    def run(frame: Frame) -> Value:
        value = left(frame)
        return holds(value.nano, nano) if isinstance(value, Quantity) else general(value, wanted)

    return run


def _quantity_comparison(left: Evaluate, wanted: Quantity, general: Implementation) -> Evaluate:
    nano = wanted.nano

    def run(frame: Frame) -> Value:
        value = left(frame)
        if isinstance(value, Quantity):
            have = value.nano
            return (have > nano) - (have < nano)
        return general(value, wanted)

    return run
