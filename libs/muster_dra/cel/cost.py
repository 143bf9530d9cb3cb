"""What evaluation costs, in upstream's units, and the limit.

The factors and the rule of each function are those of cel-go `interpreter/runtimecost.go`, `ext/lists.go`,
`ext/sets.go` and k/apiserver `pkg/cel/library/cost.go`; the limit is CELSelectorExpressionMaxCost (dra-semantics §4.4).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil

from muster_dra.cel.formats import Format
from muster_dra.cel.network import Cidr, Ip
from muster_dra.cel.quantities import Quantity
from muster_dra.cel.urls import Url
from muster_dra.cel.values import LIMIT, Aborted, Optional, Value, from_key
from muster_dra.cel.versions import Semver

ACCESS, LIST, MAP = 1, 10, 30  # a name or a selection; a new list; a new map
_TEXT, _PATTERN = 0.1, 0.25  # per character
_VALIDATION = 2048  # the longest pattern of a named format, taken for all

Args = Sequence[Value]
Rule = Callable[[Args, Value], int]
Sized = (str, bytes, tuple, dict, Ip, Cidr)


def size_of(value: Value) -> int:
    """The size that costs are counted by: of texts, lists, maps, addresses; 1 for all else."""
    if isinstance(value, Sized):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.content)
    return 1


def traversal(value: Value, so_far: int = 0) -> int:
    """The cost of looking at every part of a value once. Raises Aborted beyond the limit."""
    match value:
        case str():
            return int(len(value.encode()) * _TEXT)
        case bytes():
            return int(len(value) * _TEXT)
        case tuple():
            parts: Iterable[Value] = value
        case dict():
            parts = (part for key, item in value.items() for part in (from_key(key), item))
        case _:
            return 1
    total = 0
    for part in parts:
        total += traversal(part, so_far + total)
        if so_far + total > LIMIT:
            raise Aborted("operation cancelled: actual cost limit exceeded")
    return total


def _text(at: int, factor: float = 1) -> Rule:
    return lambda args, _: ceil(size_of(args[at]) * factor * _TEXT)


def _fixed(cost: int) -> Rule:
    return lambda args, result: cost


def _search(args: Args, _: Value) -> int:
    return ceil((1.0 + size_of(args[0])) * _TEXT) * ceil(size_of(args[1]) * _PATTERN)


def _contains(args: Args, _: Value) -> int:
    return ceil(size_of(args[0]) * _TEXT) * ceil(size_of(args[1]) * _TEXT)


def _smaller(args: Args, _: Value) -> int:
    return ceil(min(size_of(args[0]), size_of(args[1])) * _TEXT)


_CHEAP = (Quantity, Semver, Url, Ip, Cidr, Format)


def _equality(args: Args, result: Value) -> int:
    return 1 if isinstance(args[0], _CHEAP) else _smaller(args, result)


def _both(args: Args, _: Value) -> int:
    return ceil((size_of(args[0]) + size_of(args[1])) * _TEXT)


def _allocated(args: Args, result: Value) -> int:
    return size_of(result) + 1 + LIST


def _flattened(args: Args, _: Value) -> int:
    depth = args[1] if len(args) > 1 and isinstance(args[1], int) else 1
    return int(size_of(args[0]) * depth) + 1 + LIST


def _self_compared(at: int) -> Rule:
    def rule(args: Args, _: Value) -> int:
        items = args[at]
        size = size_of(items)
        if not size:
            return 1 + LIST
        texts = isinstance(items, tuple) and isinstance(items[0], (str, bytes))
        return int(size * size * (2 + _TEXT if texts else 2)) + 1 + LIST

    return rule


def _sets(factor: int) -> Rule:
    return lambda args, _: size_of(args[0]) * size_of(args[1]) * factor + 1


def _membership(args: Args, _: Value) -> int:
    return size_of(args[1])


def _inside(args: Args, _: Value) -> int:
    prefix = size_of(args[0])
    return ceil(2 * prefix * _TEXT) + (ceil(size_of(args[1]) * _TEXT) if isinstance(args[1], str) else 0)


def _inside_masked(args: Args, result: Value) -> int:
    return _inside(args, result) + ceil(size_of(args[0]) * _TEXT) + 1


def _validation(args: Args, _: Value) -> int:
    return ceil((1.0 + size_of(args[1])) * _TEXT) * ceil(_VALIDATION * _PATTERN)


_traversal_rule: Rule = lambda args, _: traversal(args[0])  # noqa: E731  # one of the table's entries
_joined: Rule = lambda _, result: ceil(size_of(result) * 2 * _TEXT)  # noqa: E731

# By function, whatever the overload.
_BY_NAME: Mapping[str, Rule] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _traversal_rule),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _text(0)),
    **dict.fromkeys(("replace", "split"), _text(0, 2)),
    "join": _joined,
    **dict.fromkeys(("find", "findAll"), _search),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _text(0)),
    "ip.isCanonical": _text(0, 2),
    "containsIP": _inside,
    "containsCIDR": _inside_masked,
    "validate": _validation,
    "_==_": _equality,
    "_!=_": _smaller,
}

# By overload: these rules hold if it is the only one that the types allow.
_BY_OVERLOAD: Mapping[str, Rule] = {
    "string:startsWith(string)": _text(0),
    "string:endsWith(string)": _text(0),
    "bytes(string)": _text(0),
    "string(bytes)": _text(0),
    "strings.quote(string)": _text(0),
    "string:format(list(dyn))": _text(0),
    "@in(A, list(A))": _membership,
    **{
        f"{operator}({kind}, {kind})": _smaller
        for operator in ("_<_", "_>_", "_<=_", "_>=_")
        for kind in ("string", "bytes")
    },
    "_+_(string, string)": _both,
    "_+_(bytes, bytes)": _both,
    "string:matches(string)": _search,
    "string:contains(string)": _contains,
    "list(T):slice(int, int)": _allocated,
    "list(list(T)):flatten()": _flattened,
    "list(dyn):flatten(int)": _flattened,
    "lists.range(int)": _allocated,
    "list(T):reverse()": _allocated,
    "list(T):distinct()": _self_compared(0),
    "sets.contains(list(T), list(T))": _sets(1),
    "sets.intersects(list(T), list(T))": _sets(1),
    "sets.equivalent(list(T), list(T))": _sets(2),
}
_ONE = _fixed(1)
_NEED_RESULT = frozenset((_joined, _allocated))


def needs_result(rule: Rule) -> bool:
    """Whether a rule looks at the result; all others can charge before the call."""
    return rule in _NEED_RESULT


def rule_of(function: str, overloads: Sequence[str], *, method: bool) -> Rule:
    """How a call of a function is charged; `overloads` are the signatures that the types allow."""
    if function == "ip":
        return _ONE if method else _text(0)
    if function in _BY_NAME:
        return _BY_NAME[function]
    if len(overloads) != 1:
        return _ONE
    only = overloads[0]
    if ":sort()" in only:
        return _self_compared(0)
    if ":@sortByAssociatedKeys(" in only:
        return _self_compared(1)
    return _BY_OVERLOAD.get(only, _ONE)
