"""Static types of CEL, and the unification that the checker needs.

A type is a name with parameters; the same rules as cel-go's checker decide what may stand for what.
"""

import re
from enum import Enum, auto


class Kind(Enum):
    """How a type behaves when types are compared."""

    DYN = auto()
    ANY = auto()  # fits everywhere like dyn, but nothing can run over it
    ERROR = auto()
    NULL = auto()
    PARAM = auto()
    PLAIN = auto()  # bool, int, uint, double, string, bytes: equal names only
    NULLABLE = auto()  # timestamp, duration, any, messages: null may stand for them
    OPAQUE = auto()  # a name with parameters; nullable
    LIST = auto()
    MAP = auto()
    TYPE = auto()


class Type:
    """A static type; immutable, equal by its parts."""

    __slots__ = ("_hash", "free", "kind", "name", "params")

    def __init__(self, kind: Kind, name: str, params: "tuple[Type, ...]" = ()) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        self.free = kind is Kind.PARAM or any(inner.free for inner in params)  # whether a type parameter is in it
        self._hash = hash((name, params))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type) or self._hash != other._hash:
            return False
        return self.kind is other.kind and self.name == other.name and self.params == other.params

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Type({self})"

    def __str__(self) -> str:
        if self.kind is Kind.PARAM:
            return "dyn"
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


DYN = Type(Kind.DYN, "dyn")
ERROR = Type(Kind.ERROR, "*error*")
NULL = Type(Kind.NULL, "null")
BOOL, INT, UINT, DOUBLE, STRING, BYTES = (
    Type(Kind.PLAIN, name) for name in ("bool", "int", "uint", "double", "string", "bytes")
)
TIMESTAMP, DURATION = (Type(Kind.NULLABLE, name) for name in ("timestamp", "duration"))
ANY = Type(Kind.ANY, "any")


def list_of(element: Type) -> Type:
    """The type of a list."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of a map."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(content: Type) -> Type:
    """The type of an optional."""
    return Type(Kind.OPAQUE, "optional_type", (content,))


def type_of(subject: Type) -> Type:
    """The type of a type."""
    return Type(Kind.TYPE, "type", (subject,))


def param(name: str) -> Type:
    """A type parameter."""
    return Type(Kind.PARAM, name)


_SIMPLE = {t.name: t for t in (DYN, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, ANY)}
_TOKEN = re.compile(r"[A-Za-z_][\w.]*|[(),]")


def parse_type(text: str) -> Type:
    """The type written as `list(A)`, `map(string, dyn)`, `optional(A)`, `kubernetes.Semver`; letters are parameters."""
    tokens = _TOKEN.findall(text)
    found, rest = _parse_type(tokens)
    if rest:
        raise ValueError(f"no type: {text!r}")
    return found


def _parse_type(tokens: list[str]) -> tuple[Type, list[str]]:
    name, rest = tokens[0], tokens[1:]
    params: list[Type] = []
    if rest and rest[0] == "(":
        rest = rest[1:]
        while rest[0] != ")":
            inner, rest = _parse_type(rest)
            params.append(inner)
            if rest[0] == ",":
                rest = rest[1:]
        rest = rest[1:]
    return _named(name, params), rest


def _named(name: str, params: list[Type]) -> Type:
    match name:
        case "list":
            return list_of(*params)
        case "map":
            return map_of(*params)
        case "optional":
            return optional_of(*params)
        case "type":
            return type_of(*params)
        case _ if name in _SIMPLE:
            return _SIMPLE[name]
        case _ if len(name) == 1:
            return param(name)
        case _:
            return Type(Kind.OPAQUE, name, tuple(params))


Bindings = dict[str, Type]  # type parameter -> what it stands for


def is_dyn(kind: Kind) -> bool:
    """Whether a type of this kind fits everywhere."""
    return kind is Kind.DYN or kind is Kind.ANY or kind is Kind.ERROR


def assignable(bindings: Bindings, left: Type, right: Type) -> bool:
    """Whether `right` may stand for `left`; binds type parameters on the way, also when the answer is no."""
    if right.kind is Kind.PARAM:
        valid, bound = _bind(bindings, left, right)
        if valid:
            return True
        if bound:
            return False
    if left.kind is Kind.PARAM:
        return _bind(bindings, right, left)[0]
    if left is right or is_dyn(left.kind) or is_dyn(right.kind):
        return True
    if left.kind is Kind.NULL:
        return _nullable(right)
    if right.kind is Kind.NULL:
        return _nullable(left)
    if left.kind is Kind.TYPE:
        return right.kind is Kind.TYPE
    return (
        left.kind is right.kind
        and left.name == right.name
        and len(left.params) == len(right.params)
        and all(assignable(bindings, one, other) for one, other in zip(left.params, right.params, strict=True))
    )


def _nullable(subject: Type) -> bool:
    return subject.kind in (Kind.OPAQUE, Kind.NULLABLE, Kind.NULL)


_HOPEFUL = frozenset((Kind.DYN, Kind.ANY, Kind.ERROR, Kind.NULL, Kind.PARAM, Kind.TYPE))


def clearly_differ(left: Type, right: Type) -> bool:
    """Whether the outermost parts alone rule out that one stands for the other."""
    return left.name != right.name and left.kind not in _HOPEFUL and right.kind not in _HOPEFUL


def _bind(bindings: Bindings, subject: Type, parameter: Type) -> tuple[bool, bool]:
    """Lets a parameter stand for a type: (whether it can, whether it stood for something already)."""
    if subject == parameter:
        return True, True
    bound = bindings.get(parameter.name)
    if bound is not None:
        if subject == bound:
            return True, True
        if assignable(bindings, subject, bound):
            general = most_general(subject, bound)
            if _absent(bindings, parameter, general):
                bindings[parameter.name] = general
            return True, True
        return False, True
    if _absent(bindings, parameter, subject):
        bindings[parameter.name] = subject
        return True, False
    return False, False


def _absent(bindings: Bindings, parameter: Type, within: Type) -> bool:
    """Whether a parameter does not occur in a type (it would contain itself)."""
    if parameter == within:
        return False
    if within.kind is Kind.PARAM:
        bound = bindings.get(within.name)
        return bound is None or _absent(bindings, parameter, bound)
    return all(_absent(bindings, parameter, inner) for inner in within.params)


def most_general(left: Type, right: Type) -> Type:
    """The less specific of two types."""
    return left if _at_most_as_specific(left, right) else right


def _at_most_as_specific(left: Type, right: Type) -> bool:
    if left.kind in (Kind.DYN, Kind.ANY, Kind.PARAM):
        return True
    if right.kind in (Kind.DYN, Kind.ANY, Kind.PARAM) or left.kind is not right.kind:
        return False
    if left.kind is Kind.TYPE:
        return True
    if left.kind in (Kind.OPAQUE, Kind.LIST, Kind.MAP):
        return (
            left.name == right.name
            and len(left.params) == len(right.params)
            and all(map(_at_most_as_specific, left.params, right.params))
        )
    return left == right


def substitute(bindings: Bindings, subject: Type, *, free_to_dyn: bool = False) -> Type:
    """The type with its bound parameters replaced; free ones stay, or become dyn."""
    if not subject.free:
        return subject
    if subject.kind is Kind.PARAM:
        bound = bindings.get(subject.name)
        if bound is not None:
            return substitute(bindings, bound, free_to_dyn=free_to_dyn)
        return DYN if free_to_dyn else subject
    return Type(
        subject.kind,
        subject.name,
        tuple(substitute(bindings, inner, free_to_dyn=free_to_dyn) for inner in subject.params),
    )
