"""Whether an expression can't reach the cost limit on any device within the API's limits: then nobody need count.

A bound of a node is what its evaluation costs at most, and the size of its value at most: of the longest text, list or
map anywhere in it. Whatever has no simple bound counts as unbounded; being wrong on that side only costs time.
"""

from dataclasses import dataclass
from math import inf, prod

from muster_dra.cel.checker import Checked
from muster_dra.cel.cost import ACCESS, LIST, MAP
from muster_dra.cel.device import LONGEST_TEXT, MOST_ITEMS
from muster_dra.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, MessageExpr, Select
from muster_dra.cel.types import Kind, Type

_FROM_DEVICE = float(max(LONGEST_TEXT, MOST_ITEMS))
_SHORT = 64.0  # no number, time or address is a longer text
_ANY_SIZE = frozenset(("lists.range", "replace", "format", "join", "flatten", "cel.@mapInsert"))
_LOOK_AT_ALL = frozenset(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"))
_COMPARE_ALL = frozenset(
    (
        "matches", "find", "findAll", "contains", "sort", "@sortByAssociatedKeys", "distinct", "flatten", "validate",
        "sets.contains", "sets.equivalent", "sets.intersects",
    )
)  # fmt: skip
_FREE = frozenset(("_&&_", "_||_", "!_", "_?_:_", "@not_strictly_false", "_[_]", "_?._", "_[?_]", "orValue", "or"))


@dataclass(frozen=True, slots=True)
class Bound:
    """At most so much cost, and a value of at most this size."""

    cost: float
    size: float


def highest_cost(checked: Checked) -> float:
    """What the cost can't exceed on a device within the limits of the API; infinite where that cannot be told."""
    return _Bounds(checked).of(checked.root).cost


class _Bounds:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._scopes: list[tuple[str, Bound]] = []
        self._found: dict[int, Bound] = {}

    def of(self, node: Expr) -> Bound:
        """The bound of a node."""
        known = self._found.get(node.id)
        if known is None:
            known = self._found[node.id] = self._bound(node)
        return known

    def _bound(self, node: Expr) -> Bound:
        match node:
            case Literal():
                return Bound(0, _literal_size(node))
            case Ident():
                for name, bound in reversed(self._scopes):
                    if name == node.name:
                        return bound
                return Bound(ACCESS, _FROM_DEVICE)
            case Select():
                operand = self.of(node.operand)
                return Bound(operand.cost + ACCESS, operand.size)
            case Call():
                return self._call(node)
            case ListExpr():
                return self._aggregate(LIST, node.elements)
            case MapExpr():
                return self._aggregate(MAP, tuple(part for one in node.entries for part in (one.key, one.value)))
            case Fold():
                return self._fold(node)
            case MessageExpr():
                return Bound(inf, inf)

    def _aggregate(self, cost: float, parts: tuple[Expr, ...]) -> Bound:
        size = float(len(parts))
        for part in parts:
            bound = self.of(part)
            cost += bound.cost
            size = max(size, bound.size)
        return Bound(cost, size)

    def _call(self, node: Call) -> Bound:
        operands = node.args if node.target is None else (node.target, *node.args)
        bounds = [self.of(operand) for operand in operands]
        cost = sum(bound.cost for bound in bounds)
        largest = max((bound.size for bound in bounds), default=1.0)
        function = self._checked.names.get(node.id, node.function)
        if function in _FREE:
            return Bound(cost + 2, largest)
        cost += 2 * LIST
        if function in _LOOK_AT_ALL:
            cost += max((one.size ** (self._depth(part) + 1) for part, one in zip(operands, bounds, strict=True)))
        elif function in _COMPARE_ALL:
            cost += 3 * max(largest * largest, prod(max(bound.size, 1.0) for bound in bounds))
        else:
            cost += 2 * sum(bound.size for bound in bounds)
        if function in _ANY_SIZE:
            return Bound(cost, inf)
        return Bound(cost, sum(bound.size for bound in bounds) if function == "_+_" else max(largest, _SHORT))

    def _depth(self, operand: Expr) -> int:
        known = self._checked.types.get(operand.id)
        return 1 if known is None else _nesting(known)

    def _fold(self, node: Fold) -> Bound:
        over, init = self.of(node.over), self.of(node.init)
        rounds = 0.0 if isinstance(node.over, ListExpr) and not node.over.elements else over.size
        # In a loop the accumulator grows by one item a round; a bound variable is computed once.
        size = max(init.size, rounds)
        scoped = len(self._scopes)
        self._scopes.append((node.accu, Bound(ACCESS, size)))
        step_cost = 0.0
        if rounds:
            self._scopes.extend((name, Bound(ACCESS, over.size)) for name in (node.var, node.var2) if name)
            step, condition = self.of(node.step), self.of(node.condition)
            step_cost = rounds * (step.cost + condition.cost)
            size = max(size, step.size)
            del self._scopes[scoped:]
            self._scopes.append((node.accu, Bound(ACCESS, size)))
        result = self.of(node.result)
        del self._scopes[scoped:]
        return Bound(over.cost + init.cost + step_cost + result.cost, max(result.size, size if rounds else 0.0))


def _nesting(found: Type) -> int:
    """How many levels of parts a value of a type has: 0 for a number or text, 1 for a list of them."""
    if found.kind in (Kind.LIST, Kind.MAP):
        return 1 + max(map(_nesting, found.params))
    return 1 if found.kind in (Kind.DYN, Kind.ANY, Kind.PARAM) else 0


def _literal_size(node: Literal) -> float:
    return float(len(node.value)) if isinstance(node.value, (str, bytes)) else 1.0
