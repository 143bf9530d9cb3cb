"""Which macro a fold came from, read off its form: the parts that a faster loop needs."""

from dataclasses import dataclass

from muster_dra.cel.macros import ACCUMULATOR
from muster_dra.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr


@dataclass(frozen=True, slots=True)
class Bind:
    """`cel.bind` and its like: no loop at all."""


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`all` (ends with False) or `exists` (ends with True)."""

    predicate: Expr
    ends_with: bool


@dataclass(frozen=True, slots=True)
class Collect:
    """`map`, `filter`, `transformList`."""

    predicate: Expr | None
    item: Expr


@dataclass(frozen=True, slots=True)
class CollectEntries:
    """`transformMap`, and without a key `transformMapEntry`."""

    predicate: Expr | None
    key: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class General:
    """Any other loop."""


Shape = Bind | Quantifier | Collect | CollectEntries | General


def shape_of(node: Fold) -> Shape:
    """The form of a fold."""
    if isinstance(node.over, ListExpr) and not node.over.elements and _is_literal(node.condition, value=False):
        return Bind()
    if node.accu != ACCUMULATOR or not _is_accumulator(node.result):
        return General()
    step = node.step
    logic = isinstance(step, Call) and step.function in ("_&&_", "_||_") and _is_accumulator(step.args[0])
    if isinstance(step, Call) and logic:
        return Quantifier(step.args[1], ends_with=step.function == "_||_")
    if not _is_literal(node.condition, value=True):
        return General()
    predicate: Expr | None = None
    if isinstance(step, Call) and step.function == "_?_:_" and _is_accumulator(step.args[-1]):
        predicate, step = step.args[0], step.args[1]
    if not isinstance(step, Call) or not step.args or not _is_accumulator(step.args[0]):
        return General()
    added = step.args[-1]
    one = isinstance(added, ListExpr) and len(added.elements) == 1
    if step.function == "_+_" and isinstance(node.init, ListExpr) and isinstance(added, ListExpr) and one:
        return Collect(predicate, added.elements[0])
    if step.function == "cel.@mapInsert" and isinstance(node.init, MapExpr):
        return CollectEntries(predicate, step.args[1] if len(step.args) == 3 else None, added)
    return General()


@dataclass(frozen=True, slots=True)
class OptMap:
    """`optMap`, and without `wraps` `optFlatMap`: a result computed of what an optional holds."""

    target: Expr
    variable: str
    result: Expr
    wraps: bool


def opt_map_of(node: Call) -> OptMap | None:
    """The optional macro that a choice came from, if it came from one."""
    present, mapped = node.args[:2]
    wraps = isinstance(mapped, Call) and mapped.function == "optional.of" and len(mapped.args) == 1
    inner = mapped.args[0] if isinstance(mapped, Call) and wraps else mapped
    if not isinstance(present, Call) or present.function != "hasValue" or not isinstance(inner, Fold):
        return None
    value = inner.init
    if not isinstance(value, Call) or value.function != "value" or value.target is None:
        return None
    if value.target is not present.target:
        return None
    return OptMap(value.target, inner.accu, inner.result, wraps)


def _is_accumulator(node: Expr) -> bool:
    return isinstance(node, Ident) and node.name == ACCUMULATOR


def _is_literal(node: Expr, *, value: bool) -> bool:
    return isinstance(node, Literal) and node.value is value
