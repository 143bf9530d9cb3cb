"""The lexer: from text to tokens, literals decoded (cel-spec, "Syntax" and "Lexis")."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from muster_dra.cel.operators import INT_MAX, UINT_MAX
from muster_dra.cel.values import Uint


class Sort(Enum):
    """What a token is."""

    NAME = auto()
    LITERAL = auto()
    NUMBER = auto()  # an int or double, which a minus sign may belong to
    SIGN = auto()  # operators and punctuation, `in` included
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text, where it starts, and the value of a literal."""

    sort: Sort
    text: str
    at: int
    value: bool | int | float | str | bytes | None = None


class ParseFailed(Exception):
    """The text is no expression; the message says where and why."""


_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7]{2}|[xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_STRING = "|".join(
    (
        r'[rR]"""(?s:.*?)"""',
        r"[rR]'''(?s:.*?)'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_TOKEN = re.compile(
    rf"""(?P<space>(?:[\t\ \r\n\f]+|//[^\n]*)+)
    |(?P<string>[bB]?(?:{_STRING.replace(" ", "[ ]")}))
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>0x[0-9A-Fa-f]+[uU]|[0-9]+[uU])
    |(?P<int>0x[0-9A-Fa-f]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{{}}])
    """,
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None}
_NEWLINE = re.compile(r"\r\n?")
_ESCAPED = re.compile(r"\\(?:([xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|([0-7]{3})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, the last one of sort END. Raises ParseFailed."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ParseFailed(f"syntax error at character {at + 1}: unexpected {text[at]!r}")
        if match.lastgroup != "space":
            found.append(_token(str(match.lastgroup), match.group(), at))
        at = match.end()
    found.append(Token(Sort.END, "", at))
    return found


def _token(group: str, text: str, at: int) -> Token:
    match group:
        case "string":
            return Token(Sort.LITERAL, text, at, _read_string(text, at))
        case "float":
            value = float(text)
            if value == float("inf"):
                raise ParseFailed(f"invalid double literal at character {at + 1}: {text}")
            return Token(Sort.NUMBER, text, at, value)
        case "uint":
            return Token(Sort.LITERAL, text, at, Uint(_number(text[:-1], UINT_MAX, at)))
        case "int":
            return Token(Sort.NUMBER, text, at, _number(text, INT_MAX + 1, at))
        case "name" if text in _WORDS:
            return Token(Sort.LITERAL, text, at, _WORDS[text])
        case "name" if text != "in":
            return Token(Sort.NAME, text, at)
        case _:
            return Token(Sort.SIGN, text, at)


def _number(text: str, most: int, at: int) -> int:
    digits = text.removeprefix("0x")
    value = int(digits, 16) if digits != text else int(text) if len(text) <= 40 else most + 1
    if value > most:
        raise ParseFailed(f"invalid integer literal at character {at + 1}: {text[:40]}")
    return value


def _read_string(text: str, at: int) -> str | bytes:
    is_bytes = text[0] in "bB"
    body = text[1:] if is_bytes else text
    raw = body[0] in "rR"
    body = body[1:] if raw else body
    quotes = 3 if len(body) >= 6 and body[:3] in ('"""', "'''") else 1
    body = _NEWLINE.sub("\n", body[quotes:-quotes])
    if raw or "\\" not in body:
        return body.encode() if is_bytes else body
    return _unescape_bytes(body) if is_bytes else _unescape(body, at)


def _code_of(escape: re.Match[str]) -> int | None:
    """The number that an escape spells, or None for a single character."""
    if escape[1]:
        return int(escape[1][1:], 16)
    return int(escape[2], 8) if escape[2] else None


def _unescape(body: str, at: int) -> str:
    def character(escape: re.Match[str]) -> str:
        code = _code_of(escape)
        if code is None:
            return _SIMPLE.get(escape[3], escape[3])
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ParseFailed(f"invalid unicode code point in the string at character {at + 1}: {escape[0]}")
        return chr(code)

    return _ESCAPED.sub(character, body)


def _unescape_bytes(body: str) -> bytes:
    out = bytearray()
    last = 0
    for escape in _ESCAPED.finditer(body):
        out += body[last : escape.start()].encode()
        code = _code_of(escape)
        if code is None:
            out += _SIMPLE.get(escape[3], escape[3]).encode()
        elif code > 0xFF or (escape[1] and escape[1][0] in "uU"):
            raise ParseFailed(f"unable to unescape bytes: {escape[0]}")
        else:
            out.append(code)
        last = escape.end()
    return bytes(out + body[last:].encode())
