"""`format.<name>()`, `format.named()` and `validate()`: the named formats of Kubernetes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial

from muster_dra.cel.times import parse_timestamp
from muster_dra.cel.urls import read_url
from muster_dra.cel.values import NONE, Optional, Value, no_such_overload

Check = Callable[[str], bool]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_OLD_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _matches(pattern: re.Pattern[str], most: int, text: str) -> bool:
    return len(text.encode()) <= most and pattern.fullmatch(text) is not None


def _prefix(check: Check, text: str) -> bool:
    """A name to which something will be appended may end with a dash."""
    return check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _is_qualified(text: str) -> bool:
    parts = text.split("/")
    if len(parts) > 2 or (len(parts) == 2 and not _matches(_SUBDOMAIN, 253, parts[0])):
        return False
    return _matches(_NAME, 63, parts[-1])


def _is_label_value(text: str) -> bool:
    return not text or _matches(_NAME, 63, text)


def _is_uri(text: str) -> bool:
    return read_url(text) is not None


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _is_base64(text: str) -> bool:
    return bool(text) and _BASE64.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    return len(text) >= 4 and parse_timestamp(text.upper()) is not None


_is_label = partial(_matches, _LABEL, 63)
_is_subdomain = partial(_matches, _SUBDOMAIN, 253)
_is_old_label = partial(_matches, _OLD_LABEL, 63)

_CHECKS: Mapping[str, Check] = {
    "dns1123Label": _is_label,
    "dns1123Subdomain": _is_subdomain,
    "dns1035Label": _is_old_label,
    "qualifiedName": _is_qualified,
    "dns1123LabelPrefix": partial(_prefix, _is_label),
    "dns1123SubdomainPrefix": partial(_prefix, _is_subdomain),
    "dns1035LabelPrefix": partial(_prefix, _is_old_label),
    "labelValue": _is_label_value,
    "uri": _is_uri,
    "uuid": _is_uuid,
    "byte": _is_base64,
    "date": _is_date,
    "datetime": _is_datetime,
}


@dataclass(frozen=True, slots=True)
class Format:
    """A named format."""

    name: str

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "kubernetes.NamedFormat"

    def equals(self, other: Value) -> bool:
        """Equality of the names. Raises EvalError for another type."""
        if isinstance(other, Format):
            return self.name == other.name
        raise no_such_overload()


def _constant(name: str) -> Callable[[], Value]:
    return lambda: Format(name)


CONSTANTS: Mapping[str, Callable[..., Value]] = {f"format.{name}": _constant(name) for name in _CHECKS}


def named(name: Value) -> Value:
    """`format.named(name)`."""
    if not isinstance(name, str):
        raise no_such_overload()
    return Optional(True, Format(name)) if name in _CHECKS else NONE


def validate(holder: Value, text: Value) -> Value:
    """`f.validate(text)`: none if the text is of the format, else the complaints."""
    if not isinstance(holder, Format) or not isinstance(text, str):
        raise no_such_overload()
    if _CHECKS[holder.name](text):
        return NONE
    return Optional(True, (f"{text!r} does not have the format {holder.name}",))
