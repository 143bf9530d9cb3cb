"""Functions on strings: the standard tests, the strings extension (version 2) and the regex library of Kubernetes."""

import re
from functools import lru_cache
from typing import Protocol, cast

import re2

from muster_dra.cel.values import LONGEST_TEXT, EvalError, Value, check_size, no_such_overload

_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip

_LONGEST_REMEMBERED = 256
_BYTE_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\C")  # known to RE2, unknown to Go's regexp


class _Found(Protocol):
    def group(self) -> str: ...
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    """What is used of a compiled RE2 pattern."""

    def search(self, text: str) -> _Found | None:
        """The first match."""
        ...

    def finditer(self, text: str) -> "list[_Found]":
        """All matches that do not overlap."""
        ...


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise no_such_overload()


def _number(value: Value) -> int:
    if type(value) is int:
        return value
    raise no_such_overload()


def _options() -> object:
    options = re2.Options()
    options.log_errors = False
    return options


@lru_cache(1024)
def read_pattern(pattern: str) -> Pattern | None:
    """The RE2 pattern, or None if it is none."""
    if _BYTE_CLASS.search(pattern):
        return None
    try:
        return cast(Pattern, re2.compile(pattern, _options()))
    except re2.error:
        return None


def _pattern(value: Value) -> Pattern:
    found = read_pattern(_text(value))
    if found is None:
        raise EvalError(f"invalid regular expression {value!r}")
    return found


@lru_cache(16384)
def _found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text: remembered, because devices repeat the same few texts."""
    return _pattern(pattern).search(text) is not None


def matches(text: Value, pattern: Value) -> Value:
    """`text.matches(pattern)`."""
    subject = _text(text)
    if len(subject) > _LONGEST_REMEMBERED:
        return _pattern(pattern).search(subject) is not None
    return _found(_text(pattern), subject)


def find(text: Value, pattern: Value) -> Value:
    """`text.find(pattern)`."""
    found = _pattern(pattern).search(_text(text))
    return found.group() if found is not None else ""


def find_all(text: Value, pattern: Value, limit: Value = -1) -> Value:
    """`text.findAll(pattern)`, `text.findAll(pattern, limit)`."""
    most = _number(limit)
    found: list[Value] = []
    end = -1
    for match in _pattern(pattern).finditer(_text(text)):
        if match.start() == match.end() == end:
            continue  # upstream has no empty match right after another match
        end = match.end()
        found.append(match.group())
    return tuple(found) if most < 0 else tuple(found[:most])


def contains(text: Value, part: Value) -> Value:
    """`text.contains(part)`."""
    return _text(part) in _text(text)


def starts_with(text: Value, part: Value) -> Value:
    """`text.startsWith(part)`."""
    return _text(text).startswith(_text(part))


def ends_with(text: Value, part: Value) -> Value:
    """`text.endsWith(part)`."""
    return _text(text).endswith(_text(part))


def char_at(text: Value, at: Value) -> Value:
    """`text.charAt(at)`; the position after the last character is empty."""
    body, index = _text(text), _number(at)
    if not 0 <= index <= len(body):
        raise EvalError(f"index out of range: {index}")
    return body[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    """Where `part` begins at or after `offset`, or -1."""
    if offset < 0:
        raise EvalError(f"index out of range: {offset}")
    if not part:
        return min(offset, len(text))
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    """Where `part` begins last, at or before `offset`, or -1."""
    if offset is None:
        if not part:
            return len(text)
        if len(text.encode()) < len(part.encode()):
            return -1
        offset = len(text) - 1
    if offset < 0:
        raise EvalError(f"index out of range: {offset}")
    if not part:
        return min(offset, len(text))
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def lower_ascii(text: Value) -> Value:
    """`text.lowerAscii()`."""
    return _text(text).translate(_LOWER)


def upper_ascii(text: Value) -> Value:
    """`text.upperAscii()`."""
    return _text(text).translate(_UPPER)


def replace(text: Value, old: Value, new: Value, limit: Value = -1) -> Value:
    """`text.replace(old, new)`, `text.replace(old, new, limit)`."""
    body, gone, put, most = _text(text), _text(old), _text(new), _number(limit)
    times = body.count(gone) if most < 0 else min(body.count(gone), most)
    check_size(len(body) + times * (len(put) - len(gone)), LONGEST_TEXT)
    return body.replace(gone, put, times)


def split(text: Value, separator: Value, limit: Value = -1) -> Value:
    """`text.split(separator)`, `text.split(separator, limit)`; an empty separator splits into characters."""
    body, mark, most = _text(text), _text(separator), _number(limit)
    if most == 0:
        return ()
    if mark:
        return tuple(body.split(mark, most - 1 if most > 0 else -1))
    if most < 0 or most >= len(body):
        return tuple(body)
    return (*body[: most - 1], body[most - 1 :])


def substring(text: Value, start: Value, end: Value = None) -> Value:
    """`text.substring(start)`, `text.substring(start, end)`."""
    body, first = _text(text), _number(start)
    last = len(body) if end is None else _number(end)
    if end is not None and first > last:
        raise EvalError(f"invalid substring range. start: {first}, end: {last}")
    for at in (first, last):
        if not 0 <= at <= len(body):
            raise EvalError(f"index out of range: {at}")
    return body[first:last]


def trim(text: Value) -> Value:
    """`text.trim()`."""
    return _text(text).strip(_SPACE)


def quote(text: Value) -> Value:
    """`strings.quote(text)`."""
    return '"' + "".join(_QUOTED.get(char, char) for char in _text(text)) + '"'


def join(parts: Value, separator: Value = "") -> Value:
    """`parts.join()`, `parts.join(separator)`."""
    if not isinstance(parts, tuple):
        raise no_such_overload()
    mark, texts = _text(separator), [_text(part) for part in parts]
    check_size(sum(map(len, texts)) + len(mark) * len(texts), LONGEST_TEXT)
    return mark.join(texts)
