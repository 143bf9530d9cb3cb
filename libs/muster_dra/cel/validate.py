"""What upstream refuses at compile time besides types: bad literals of durations, timestamps and patterns, mixed
aggregates, format strings that don't fit their arguments.

Sources: cel-go `cel/validator.go`, `ext/formatting.go`; dra-semantics §4.2.
"""

from collections.abc import Iterator

from muster_dra.cel.checker import Checked
from muster_dra.cel.format_string import KINDS_OF_CLAUSE, BadFormat, Clause, parse_format
from muster_dra.cel.strings import read_pattern
from muster_dra.cel.syntax import Call, Expr, ListExpr, Literal, MapExpr, children
from muster_dra.cel.times import parse_duration, parse_timestamp
from muster_dra.cel.types import Kind, Type


class Invalid(Exception):
    """The expression is well typed and still refused."""


def validate(checked: Checked) -> None:
    """Raises Invalid for the first thing that upstream's validators refuse."""
    for node, in_format in _walk(checked.root):
        match node:
            case Call():
                _check_literal(node)
                _check_format(node, checked)
            case ListExpr() if not in_format:
                _check_same(_element_types(node, checked))
            case MapExpr() if not in_format:
                _check_same([checked.type_at(entry.key) for entry in node.entries])
                values = ((checked.type_at(entry.value), entry.optional) for entry in node.entries)
                _check_same([_unwrapped(found) if optional else found for found, optional in values])
            case _:
                pass


def _walk(root: Expr) -> Iterator[tuple[Expr, bool]]:
    """Every node, and whether it stands inside of a call of `format`, whose arguments may be mixed."""
    stack = [(root, False)]
    seen: set[tuple[int, bool]] = set()
    while stack:
        node, in_format = stack.pop()
        if (node.id, in_format) in seen:
            continue
        seen.add((node.id, in_format))
        yield node, in_format
        inside = in_format or (isinstance(node, Call) and node.function == "format")
        stack.extend((child, inside) for child in reversed(children(node)))


def _check_literal(node: Call) -> None:
    first = node.args[0] if node.args else None
    if not isinstance(first, Literal) or not isinstance(first.value, str):
        return
    text = first.value
    match node.function:
        case "duration" if parse_duration(text) is None:
            raise Invalid(f"invalid duration argument {text!r}")
        case "timestamp" if parse_timestamp(text) is None:
            raise Invalid(f"invalid timestamp argument {text!r}")
        case "matches" if read_pattern(text) is None:
            raise Invalid(f"invalid matches argument {text!r}")
        case _:
            return


def _unwrapped(found: Type) -> Type:
    return found.params[0] if found.name == "optional_type" else found


def _element_types(node: ListExpr, checked: Checked) -> list[Type]:
    types = map(checked.type_at, node.elements)
    return [_unwrapped(found) if at in node.optional else found for at, found in enumerate(types)]


def _check_same(types: list[Type]) -> None:
    for found in types[1:]:
        if found != types[0]:
            raise Invalid(f"expected type '{types[0]}' but found '{found}': a literal holds one type only")


def _check_format(node: Call, checked: Checked) -> None:
    if node.function != "format" or not isinstance(node.target, Literal) or not isinstance(node.args[0], ListExpr):
        return
    if not isinstance(node.target.value, str):
        return
    args = node.args[0].elements
    try:
        clauses = [part for part in parse_format(node.target.value) if isinstance(part, Clause)]
    except BadFormat as error:
        raise Invalid(str(error)) from None
    if len(clauses) != len(args):
        raise Invalid(f"string.format: {len(args)} arguments supplied, {len(clauses)} expected")
    for clause, arg in zip(clauses, args, strict=True):
        _check_clause(clause, arg, checked)


def _check_clause(clause: Clause, arg: Expr, checked: Checked) -> None:
    found = checked.type_at(arg)
    if found.kind is not Kind.DYN and found.name not in KINDS_OF_CLAUSE[clause.letter]:
        raise Invalid(f"clause %{clause.letter} can't format a value of type {found}")
    if clause.letter == "s" and isinstance(arg, (ListExpr, MapExpr)):
        for part in children(arg):
            _check_clause(clause, part, checked)
