"""The library's parser as an oracle: reads what cel-expr-python serialises, a `cel.expr.ParsedExpr` in an `Any`.

Protobuf's wire format is four shapes of tagged fields, so that the tests need no generated code for `cel/expr`.
"""

import struct
from collections.abc import Iterator

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional

from muster_dra.cel.syntax import Call, Entry, Expr, Fold, Ident, ListExpr, Literal, MapExpr, MessageExpr, Select
from muster_dra.cel.values import Uint

_ENVIRONMENT = cel.NewEnv(variables={}, extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()])

Shape = tuple[object, ...]


def library_parses(text: str) -> Expr | None:
    """The syntax that the library finds, or None if it finds none."""
    try:
        blob = _ENVIRONMENT.compile(text, disable_check=True).serialize()
    except RuntimeError:
        return None
    return _expression(_last(_last(blob, 2), 2))


def shape(node: Expr) -> Shape:
    """A node without its ids, to compare trees by."""
    match node:
        case Literal():
            return ("literal", type(node.value).__name__, repr(node.value))
        case Ident():
            return ("ident", node.name)
        case Select():
            return ("select", shape(node.operand), node.field, node.test)
        case Call():
            target = None if node.target is None else shape(node.target)
            return ("call", node.function, target, *map(shape, node.args))
        case ListExpr():
            return ("list", tuple(sorted(node.optional)), *map(shape, node.elements))
        case MapExpr():
            return ("map", *((shape(one.key), shape(one.value), one.optional) for one in node.entries))
        case MessageExpr():
            return ("message", node.name)
        case Fold():
            parts = (node.over, node.init, node.condition, node.step, node.result)
            return ("fold", node.var, node.var2, node.accu, *map(shape, parts))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value, b""
            continue
        size = 8
        if wire == 2:
            size, at = _varint(data, at)
        yield number, 0, data[at : at + size]
        at += size


def _last(data: bytes, wanted: int) -> bytes:
    return {number: value for number, _, value in _fields(data)}.get(wanted, b"")


def _expression(data: bytes) -> Expr:
    kind, body = next((number, value) for number, _, value in _fields(data) if number != 2)
    match kind:
        case 3:
            return _constant(body)
        case 4:
            return Ident(0, _last(body, 1).decode())
        case 5:
            tested = any(number == 3 and flag for number, flag, _ in _fields(body))
            return Select(0, _expression(_last(body, 1)), _last(body, 2).decode(), tested)
        case 6:
            target = _last(body, 1)
            args = tuple(_expression(value) for number, _, value in _fields(body) if number == 3)
            return Call(0, _last(body, 2).decode(), _expression(target) if target else None, args)
        case 7:
            elements = tuple(_expression(value) for number, _, value in _fields(body) if number == 1)
            return ListExpr(0, elements, frozenset(_last(body, 2)))
        case 8:
            return _struct(body)
        case _:
            part = {number: value for number, _, value in _fields(body)}
            names = (part[1].decode(), part.get(8, b"").decode(), part[3].decode())
            over, init, condition, step, result = (_expression(part[at]) for at in (2, 4, 5, 6, 7))
            return Fold(0, over, *names, init, condition, step, result)


def _constant(data: bytes) -> Literal:
    number, integer, value = next(_fields(data))
    match number:
        case 1:
            return Literal(0, None)
        case 2:
            return Literal(0, bool(integer))
        case 3:
            return Literal(0, integer - (1 << 64) if integer >> 63 else integer)
        case 4:
            return Literal(0, Uint(integer))
        case 5:
            return Literal(0, float(struct.unpack("<d", value)[0]))
        case 6:
            return Literal(0, value.decode())
        case _:
            return Literal(0, value)


def _struct(data: bytes) -> MapExpr | MessageExpr:
    name = _last(data, 1).decode()
    if name:
        return MessageExpr(0, name)
    entries: list[Entry] = []
    for number, _, value in _fields(data):
        if number == 2:
            part = {number: (integer, body) for number, integer, body in _fields(value)}
            optional = 5 in part and bool(part[5][0])
            entries.append(Entry(_expression(part[3][1]), _expression(part[4][1]), optional))
    return MapExpr(0, tuple(entries))
