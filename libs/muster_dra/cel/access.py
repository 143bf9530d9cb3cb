"""Reading inside values: fields, keys, positions, membership, size."""

from collections.abc import Mapping

from muster_dra.cel.values import (
    KEY_TYPES,
    NONE,
    BoolKey,
    EvalError,
    Optional,
    Uint,
    Value,
    from_key,
    holds_equal,
    no_such_overload,
    to_key,
    type_name,
)


class Domains(dict[str, Mapping[str, Value]]):
    """`device.attributes` and `device.capacity`: an unknown domain reads as an empty map (dra-semantics §4.1)."""

    __slots__ = ()

    def __missing__(self, key: str) -> Mapping[str, Value]:
        """What an unknown domain holds."""
        return EMPTY


EMPTY: dict[str, Value] = {}


def no_such_key(key: Value) -> EvalError:
    """The error of a map without the key."""
    return EvalError(f"no such key: {key}")


def _position(index: Value) -> int:
    kind = type(index)
    if kind is int or kind is Uint:
        return index  # pyright: ignore[reportReturnType]  # an integer here
    if isinstance(index, float) and index.is_integer():
        return int(index)
    raise EvalError(f"unsupported index type '{type_name(index)}' in list")


def find(holder: Value, key: Value) -> tuple[bool, Value]:
    """(whether the map or list has the key or position, what stands there). A holder of another type has none."""
    if isinstance(holder, dict):
        kind = type(key)
        if kind is not bool and kind not in KEY_TYPES:
            return False, None
        lookup = to_key(key)
        if isinstance(holder, Domains) and isinstance(key, str):
            return True, holder[key]
        return (True, holder[lookup]) if lookup in holder else (False, None)
    if isinstance(holder, tuple):
        at = _position(key)
        return (True, holder[at]) if 0 <= at < len(holder) else (False, None)
    return False, None


def get(holder: Value, key: Value) -> Value:
    """`holder[key]` and `holder.key`; of an optional, an optional. Raises EvalError for a missing key or position."""
    if isinstance(holder, Optional):
        return get_optional(holder, key)
    present, value = find(holder, key)
    if present:
        return value
    if isinstance(holder, dict):
        raise no_such_key(key)
    if isinstance(holder, tuple):
        raise EvalError(f"index out of bounds: {key}")
    raise no_such_overload()


def get_optional(holder: Value, key: Value) -> Optional:
    """`holder[?key]` and `holder.?key`."""
    if isinstance(holder, Optional):
        if not holder.present:
            return NONE
        holder = holder.content
    present, value = find(holder, key)
    return Optional(True, value) if present else NONE


def has(holder: Value, field: str) -> bool:
    """`has(holder.field)`."""
    if isinstance(holder, Optional):
        if not holder.present:
            return False
        holder = holder.content
    return find(holder, field)[0]


def contains(element: Value, holder: Value) -> bool:
    """`element in holder`. Raises EvalError if the holder is neither list nor map."""
    if isinstance(holder, tuple):
        return any(holds_equal(element, item) for item in holder)
    if isinstance(holder, dict):
        if type(element) is bool:
            return BoolKey(element) in holder
        return type(element) in KEY_TYPES and element in holder
    raise no_such_overload()


def size(value: Value) -> int:
    """`size(value)`."""
    if isinstance(value, (str, bytes, tuple, dict)):
        return len(value)
    raise no_such_overload()


def iterate(holder: Value) -> tuple[Value, ...]:
    """What a one-variable macro runs over: elements, or keys. Raises EvalError for other types."""
    if isinstance(holder, tuple):
        return holder
    if isinstance(holder, dict):
        return tuple(map(from_key, holder))
    raise EvalError(f"got '{type_name(holder)}', expected iterable type")


def iterate_pairs(holder: Value) -> tuple[tuple[Value, Value], ...]:
    """What a two-variable macro runs over: positions with elements, or keys with values."""
    if isinstance(holder, tuple):
        return tuple(enumerate(holder))
    if isinstance(holder, dict):
        return tuple((from_key(key), value) for key, value in holder.items())
    raise EvalError(f"unsupported comprehension range type: {type_name(holder)}")
