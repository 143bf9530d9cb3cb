"""The abstract syntax of CEL as values: what the parser hands to the checker and to the evaluator.

Every node has an `id`, unique in its expression; the checker files types and names under it.
"""

from dataclasses import dataclass

Constant = None | bool | int | float | str | bytes  # an unsigned literal is a muster_dra.cel.values.Uint


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal of a primitive type."""

    id: int
    value: Constant


@dataclass(frozen=True, slots=True)
class Ident:
    """A name; a leading dot asks for the global one."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or with `test` the macro `has(operand.field)`."""

    id: int
    operand: "Expr"
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function (operators included, spelled `_+_`), or with a target a method."""

    id: int
    function: str
    target: "Expr | None"
    args: "tuple[Expr, ...]"


@dataclass(frozen=True, slots=True)
class ListExpr:
    """A list literal; `optional` holds the positions written `?e`."""

    id: int
    elements: "tuple[Expr, ...]"
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a map literal, written `key: value` or `?key: value`."""

    key: "Expr"
    value: "Expr"
    optional: bool


@dataclass(frozen=True, slots=True)
class MapExpr:
    """A map literal."""

    id: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class MessageExpr:
    """A message literal `Name{...}`; no message type can be built in a selector."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Fold:
    """A comprehension: what every iterating macro, `cel.bind` and `optMap` expand to."""

    id: int
    over: "Expr"
    var: str
    var2: str  # empty: one variable
    accu: str
    init: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"


Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | MessageExpr | Fold


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct parts of a node, in source order."""
    match node:
        case Literal() | Ident() | MessageExpr():
            return ()
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListExpr():
            return node.elements
        case MapExpr():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Fold():
            return (node.over, node.init, node.condition, node.step, node.result)
