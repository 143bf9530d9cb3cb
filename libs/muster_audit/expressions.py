"""What a CEL selector speaks of: which attributes and capacities, compared with what; and its parts around `&&`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from muster_dra.cel.parse import parse
from muster_dra.cel.syntax import Call, Expr, Ident, Literal, Select, children
from muster_dra.cel.tokens import ParseFailed

ATTRIBUTES, CAPACITY = "attributes", "capacity"
_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_METHODS = {"isGreaterThan": ">", "isLessThan": "<"}
_MAKERS = frozenset({"quantity", "semver"})


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """`device.attributes[domain].name` or `device.capacity[domain].name`, in any spelling."""

    part: str
    domain: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.domain}/{self.name}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value compared with a literal: `maker` is quantity or semver where the literal is the text of one."""

    mention: Mention
    operator: str
    literal: bool | int | float | str
    maker: str = ""

    @property
    def written(self) -> str:
        """The literal as it stands in the expression."""
        if isinstance(self.literal, bool):
            return str(self.literal).lower()
        return f'"{self.literal}"' if isinstance(self.literal, str) else str(self.literal)

    def __str__(self) -> str:
        return f"{self.mention.name} {self.operator} {self.written}"


@lru_cache(4096)
def mentions_of(expression: str) -> tuple[Mention, ...]:
    """Every attribute and capacity that the expression names, sorted; empty if it does not parse."""
    return tuple(sorted({found for node in _nodes(expression) if (found := _mention(node) or _membership(node))}))


@lru_cache(4096)
def guarded_by(expression: str) -> frozenset[Mention]:
    """Those whose presence the expression tests."""
    found: set[Mention] = set()
    for node in _nodes(expression):
        tested = _mention(node) if isinstance(node, Select) and node.test else _membership(node)
        if tested is not None:
            found.add(tested)
    return frozenset(found)


@lru_cache(4096)
def looks_everywhere(expression: str) -> bool:
    """Whether it may look at attributes or capacities that it does not name: a whole map, or a computed name."""
    whole = named = 0
    for node in _nodes(expression):
        whole += isinstance(node, Ident) and node.name == "device"
        named += _mention(node) is not None or _membership(node) is not None or _of_device(node)
    return whole != named


def _of_device(node: Expr) -> bool:
    """`device.driver` and the like."""
    match node:
        case Select(operand=Ident(name="device"), field=name):
            return name not in (ATTRIBUTES, CAPACITY)
        case _:
            return False


@lru_cache(4096)
def comparisons_of(expression: str) -> tuple[Comparison, ...]:
    """Comparisons of an attribute or capacity with a literal, in source order."""
    return tuple(found for node in _nodes(expression) if (found := _comparison(node)) is not None)


@lru_cache(4096)
def drivers_of(expression: str) -> frozenset[str]:
    """Drivers that the expression compares `device.driver` with."""
    found: set[str] = set()
    for node in _nodes(expression):
        if isinstance(node, Call) and node.function in ("_==_", "@in"):
            sides = node.args
            if any(isinstance(side, Select) and side.field == "driver" for side in sides):
                found |= {text for side in sides for text in _texts(side)}
    return frozenset(found)


def conjuncts(expression: str) -> tuple[str, ...]:
    """The texts between the `&&` of the top level; one that holds a `||` there too is left whole."""
    found, start, depth, quote, place = list[str](), 0, 0, "", 0
    while place < len(expression):
        each = expression[place]
        if quote:
            if each == "\\":
                place += 1
            elif each == quote:
                quote = ""
        elif each in "\"'":
            quote = each
        elif each in "([{":
            depth += 1
        elif each in ")]}":
            depth -= 1
        elif not depth and expression.startswith("||", place):
            return (expression,)
        elif not depth and expression.startswith("&&", place):
            found.append(expression[start:place].strip())
            place += 1
            start = place + 1
        place += 1
    return (*found, expression[start:].strip())


def _nodes(expression: str) -> Iterator[Expr]:
    try:
        stack: list[Expr] = [parse(expression)]
    except (ParseFailed, RecursionError):
        return
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def _mention(node: Expr) -> Mention | None:
    """`<map>[domain].name`, `<map>[domain]["name"]`, `<map>[domain].?name`."""
    match node:
        case Select(operand=operand, field=name):
            inner = _domain(operand)
        case Call(function="_[_]" | "_?._" | "_[?_]", args=(operand, Literal(value=str() as name))):
            inner = _domain(operand)
        case _:
            return None
    return None if inner is None else Mention(inner[0], inner[1], name)


def _domain(node: Expr) -> tuple[str, str] | None:
    """`device.attributes["domain"]`: the map and the domain."""
    match node:
        case Call(
            function="_[_]" | "_[?_]",
            args=(Select(operand=Ident(name="device"), field="attributes" | "capacity" as part), Literal(value=value)),
        ) if isinstance(value, str):
            return part, value
        case _:
            return None


def _membership(node: Expr) -> Mention | None:
    match node:
        case Call(function="@in", args=(Literal(value=str() as name), container)):
            inner = _domain(container)
            return None if inner is None else Mention(inner[0], inner[1], name)
        case _:
            return None


def _comparison(node: Expr) -> Comparison | None:
    match node:
        case Call(function=function, target=None, args=(left, right)) if function in _COMPARISONS:
            return _compared(left, _COMPARISONS[function], right)
        case Call(function=function, target=target, args=(made,)) if target is not None and function in _METHODS:
            mention, literal = _mention(target), _made(made)
            if mention is not None and literal is not None:
                return Comparison(mention, _METHODS[function], *literal)
        case _:
            return None
    return None


def _compared(left: Expr, operator: str, right: Expr) -> Comparison | None:
    mention = _mention(left)
    if mention is not None and isinstance(right, Literal):
        value = right.value
        return Comparison(mention, operator, value) if isinstance(value, bool | int | float | str) else None
    match left, right:
        case Call(function="compareTo", target=target, args=(made,)), Literal(value=0) if target is not None:
            mention, literal = _mention(target), _made(made)
            if mention is not None and literal is not None:
                return Comparison(mention, operator, *literal)
        case _:
            if mention is not None and (literal := _made(right)) is not None:
                return Comparison(mention, operator, *literal)
    return None


def _made(node: Expr) -> tuple[str, str] | None:
    """`quantity("80Gi")`: the text and the maker."""
    match node:
        case Call(function=maker, args=(Literal(value=str() as written),)) if maker in _MAKERS:
            return written, maker
        case _:
            return None


def _texts(node: Expr) -> list[str]:
    return [each.value for each in (node, *children(node)) if isinstance(each, Literal) and isinstance(each.value, str)]
