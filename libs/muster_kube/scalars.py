"""What an unquoted YAML scalar means to Kubernetes, which reads YAML as JSON (`sigs.k8s.io/yaml`, YAML 1.1).

Unlike PyYAML's resolver it keeps times (`2026-11-30`), sexagesimals (`12:30`) and `.inf` as text.
"""

import re
from functools import lru_cache
from math import isfinite

Scalar = str | int | float | bool | None

_CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_BASED = re.compile(r"[-+]?0(?:x[0-9a-fA-F]{1,16}|b[01]{1,64}|o?[0-7]{1,21})", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)


@lru_cache(1 << 14)
def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar; whatever is neither null, truth value nor finite number is text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return _based(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if isfinite(number) else text
    return text


def _based(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits[1] in "xbo":
        return sign * int(digits, 0)
    return sign * int(digits, 8)
