"""The type check: which overloads a call may take, and what type each expression has.

The rules are those of cel-go's checker. Source: dra-semantics §4.1, §4.2.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from muster_dra.cel.declarations import BY_FORM, FUNCTIONS, TYPE_NAMES, Overload
from muster_dra.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, MessageExpr, Select
from muster_dra.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    Bindings,
    Kind,
    Type,
    assignable,
    clearly_differ,
    is_dyn,
    list_of,
    map_of,
    most_general,
    optional_of,
    param,
    parse_type,
    substitute,
    type_of,
)  # fmt: skip
from muster_dra.cel.values import Uint


class TypeCheckFailed(Exception):
    """The expression has no type; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression with what the checker found: by node id its type, its full name, its possible overloads."""

    root: Expr
    types: Mapping[int, Type]
    names: Mapping[int, str]  # calls of a dotted function (`sets.contains`), names of types
    overloads: Mapping[int, tuple[Overload, ...]]

    def type_at(self, node: Expr) -> Type:
        """The type of a node."""
        return self.types[node.id]


_LITERALS: dict[type, Type] = {
    type(None): NULL, bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES,
}  # fmt: skip


def check(root: Expr, variables: Mapping[str, Type], messages: Mapping[str, Mapping[str, Type]]) -> Checked:
    """Types for every node. `messages` are the fields of each message type. Raises TypeCheckFailed."""
    return _Checker(variables, messages).run(root)


class _Checker:
    def __init__(self, variables: Mapping[str, Type], messages: Mapping[str, Mapping[str, Type]]) -> None:
        self._messages = messages
        self._globals = variables
        self._scopes: list[tuple[str, Type]] = []
        self._bindings: Bindings = {}
        self._types: dict[int, Type] = {}
        self._names: dict[int, str] = {}
        self._overloads: dict[int, tuple[Overload, ...]] = {}
        self._fresh = 0

    def run(self, root: Expr) -> Checked:
        self._check(root)
        types = {at: substitute(self._bindings, found, free_to_dyn=True) for at, found in self._types.items()}
        return Checked(root, types, self._names, self._overloads)

    def _check(self, node: Expr) -> Type:
        known = self._types.get(node.id)
        if known is not None:
            return known  # a macro has put the node in two places
        match node:
            case Literal():
                found = _LITERALS[type(node.value)]
            case Ident():
                found = self._ident(node)
            case Select():
                found = self._select(node)
            case Call():
                found = self._call(node)
            case ListExpr():
                found = self._list(node)
            case MapExpr():
                found = self._map(node)
            case Fold():
                found = self._fold(node)
            case MessageExpr():
                raise TypeCheckFailed(f"undeclared reference to '{node.name}': no message can be built here")
        self._types[node.id] = found
        return found

    def _new_param(self) -> Type:
        self._fresh += 1
        return param(f"_{self._fresh}")

    def _ident(self, node: Ident) -> Type:
        name = node.name
        if not name.startswith("."):
            for scoped, found in reversed(self._scopes):
                if scoped == name:
                    return found
        name = name.removeprefix(".")
        if name in self._globals:
            return self._globals[name]
        named = self._type_name(node.id, name)
        if named is None:
            raise TypeCheckFailed(f"undeclared reference to '{name}'")
        return named

    def _type_name(self, at: int, name: str) -> Type | None:
        if name in TYPE_NAMES:
            self._names[at] = name
            return type_of(parse_type(TYPE_NAMES[name]))
        if name in self._messages:
            self._names[at] = name
            return type_of(Type(Kind.NULLABLE, name))
        return None

    def _select(self, node: Select) -> Type:
        if not node.test:
            dotted = _dotted(node)
            if dotted is not None:
                named = self._type_name(node.id, dotted.removeprefix("."))
                if named is not None:
                    return named
        found = self._field(node.operand, node.field, optional=False)
        return BOOL if node.test else found

    def _field(self, operand: Expr, field: str, *, optional: bool) -> Type:
        target = substitute(self._bindings, self._check(operand))
        wrapped = target.kind is Kind.OPAQUE and target.name == "optional_type"
        if wrapped:
            target = target.params[0]
        match target.kind:
            case Kind.MAP:
                found = target.params[1]
            case Kind.NULLABLE if target.name in self._messages:
                fields = self._messages[target.name]
                if field not in fields:
                    raise TypeCheckFailed(f"undefined field '{field}'")
                found = fields[field]
            case Kind.PARAM:
                assignable(self._bindings, DYN, target)
                found = DYN
            case kind if is_dyn(kind):
                found = DYN
            case _:
                raise TypeCheckFailed(f"type '{target}' does not support field selection")
        found = substitute(self._bindings, found)
        return optional_of(found) if wrapped or optional else found

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            operand, field = node.args
            if not isinstance(field, Literal) or not isinstance(field.value, str):
                raise TypeCheckFailed("unsupported optional field selection")
            self._types[field.id] = STRING
            return self._field(operand, field.value, optional=True)
        args = [self._check(arg) for arg in node.args]
        if node.target is None:
            return self._resolve(node, node.function.removeprefix("."), args, method=False)
        dotted = _dotted(node.target)
        if dotted is not None:
            full = f"{dotted.removeprefix('.')}.{node.function}"
            if full in FUNCTIONS:
                self._names[node.id] = full
                return self._resolve(node, full, args, method=False)
        return self._resolve(node, node.function, [self._check(node.target), *args], method=True)

    def _resolve(self, node: Call, name: str, args: list[Type], *, method: bool) -> Type:
        if name not in FUNCTIONS:
            raise TypeCheckFailed(f"undeclared reference to '{name}'")
        if name in ("_&&_", "_||_"):
            for arg in args:
                if not self._assignable(arg, BOOL):
                    raise TypeCheckFailed(f"expected type 'bool' but found '{arg}'")
            return BOOL
        result: Type | None = None
        taken: list[Overload] = []
        for overload in BY_FORM.get((name, method, len(args)), ()):
            if any(map(clearly_differ, args, overload.args)):
                continue
            fresh: Bindings = {name: self._new_param() for name in overload.params}
            wanted = [substitute(fresh, arg) for arg in overload.args] if fresh else overload.args
            if not self._all_assignable(args, wanted):
                continue
            taken.append(overload)
            found = substitute(self._bindings, substitute(fresh, overload.result))
            if result is None:
                result = found
            elif not is_dyn(result.kind) and found != result:
                result = DYN
        if result is None:
            shown = ", ".join(str(substitute(self._bindings, arg, free_to_dyn=True)) for arg in args)
            raise TypeCheckFailed(f"found no matching overload for '{name}' applied to '({shown})'")
        self._overloads[node.id] = tuple(taken)
        return result

    def _assignable(self, left: Type, right: Type) -> bool:
        return self._all_assignable([left], [right])

    def _all_assignable(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        trial = dict(self._bindings)
        if not all(assignable(trial, one, other) for one, other in zip(left, right, strict=True)):
            return False
        self._bindings = trial
        return True

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._assignable(previous, current):
            return most_general(previous, current)
        return DYN  # `validate` refuses it, except as arguments of `format`

    def _optional_part(self, found: Type) -> Type:
        if found.kind is Kind.OPAQUE and found.name == "optional_type":
            return found.params[0]
        if is_dyn(found.kind):
            return found
        raise TypeCheckFailed(f"expected type 'optional_type({found})' but found '{found}'")

    def _list(self, node: ListExpr) -> Type:
        joined: Type | None = None
        for at, element in enumerate(node.elements):
            found = self._check(element)
            joined = self._join(joined, self._optional_part(found) if at in node.optional else found)
        return list_of(self._new_param() if joined is None else joined)

    def _map(self, node: MapExpr) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._join(keys, self._check(entry.key))
            found = self._check(entry.value)
            values = self._join(values, self._optional_part(found) if entry.optional else found)
        return map_of(keys or self._new_param(), values or self._new_param())

    def _fold(self, node: Fold) -> Type:
        over = substitute(self._bindings, self._check(node.over))
        accu = self._check(node.init)
        first, second = self._loop_types(node, over)
        with self._scope((node.accu, accu)):
            with self._scope((node.var, first), *([(node.var2, second)] if node.var2 else [])):
                self._expect(BOOL, self._check(node.condition))
                self._expect(accu, self._check(node.step))
            result = self._check(node.result)
        return substitute(self._bindings, result)

    def _loop_types(self, node: Fold, over: Type) -> tuple[Type, Type]:
        match over.kind:
            case Kind.LIST:
                return (INT, over.params[0]) if node.var2 else (over.params[0], DYN)
            case Kind.MAP:
                return over.params[0], over.params[1]
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                self._assignable(DYN, over)
                return DYN, DYN
            case _:
                raise TypeCheckFailed(f"expression of type '{over}' cannot be the range of a comprehension")

    def _expect(self, wanted: Type, found: Type) -> None:
        if not self._assignable(wanted, found):
            raise TypeCheckFailed(f"expected type '{wanted}' but found '{found}'")

    @contextmanager
    def _scope(self, *names: tuple[str, Type]) -> Generator[None]:
        self._scopes.extend(names)
        yield
        del self._scopes[-len(names) :]


def _dotted(node: Expr) -> str | None:
    """The name that a chain of plain selections spells, if it starts with a name."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join((node.name, *reversed(parts)))
