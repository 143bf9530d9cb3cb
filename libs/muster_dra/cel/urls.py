"""`url()` and its methods: absolute URLs as Go's `net/url` reads them."""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from muster_dra.cel.values import EvalError, Key, Value, no_such_overload

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.ASCII | re.DOTALL)
_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r":[0-9]*", re.ASCII)
_HOST_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_HOST = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:\[\]<>\"%-]|[^\x00-\x7f]")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)
_PATH_PLAIN = re.compile(r"[A-Za-z0-9_.~$&+,/:;=@!'()*\[\]%-]*", re.ASCII)
_KEPT_IN_PATH = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@")


@dataclass(frozen=True, slots=True)
class Url:
    """A URL in its parts: `host` with port, `path` as the escaped form, `query` as written."""

    scheme: str
    opaque: str
    user: str
    host: str
    path: str
    query: str

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "kubernetes.URL"

    def equals(self, other: Value) -> bool:
        """Equality of the text. Raises EvalError for another type."""
        if isinstance(other, Url):
            return self == other
        raise no_such_overload()


def _host_and_port(host: str) -> tuple[str, str] | None:
    """(host, `:port` or empty), or None for a malformed one."""
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            return None
        return (host[: end + 1], host[end + 1 :]) if _port_is_valid(host[end + 1 :]) else None
    at = host.rfind(":")
    if at < 0:
        return host, ""
    return (host[:at], host[at:]) if _port_is_valid(host[at:]) else None


def _port_is_valid(port: str) -> bool:
    return not port or _PORT.fullmatch(port) is not None


def _read_host(host: str) -> str | None:
    if _host_and_port(host) is None or _ESCAPES.search(host):
        return None
    if not all(map(_HOST.fullmatch, host)):
        return None
    zone = host.find("%25") if host.startswith("[") else -1
    for escape in _HOST_ESCAPE.finditer(host):
        if int(escape[1], 16) < 0x80 and escape[0] != "%25" and (zone < 0 or escape.start() < zone):
            return None
    return unquote_to_bytes(host).decode(errors="replace")


def _escape_path(path: str) -> str | None:
    """The path as Go's EscapedPath gives it: as written if that is a valid encoding, else encoded anew."""
    if _ESCAPES.search(path):
        return None
    if _PATH_PLAIN.fullmatch(path):
        return path
    return "".join(chr(byte) if byte in _KEPT_IN_PATH else f"%{byte:02X}" for byte in unquote_to_bytes(path))


@lru_cache(1024)
def read_url(text: str) -> Url | None:
    """An absolute URL or absolute path, or None; the fragment belongs to the path, as in Go's ParseRequestURI."""
    if not text or any(char < " " or char == "\x7f" for char in text):
        return None
    if text == "*":
        return Url("", "", "", "", "*", "")
    scheme, rest = "", text
    found = _SCHEME.fullmatch(text)
    if found is not None:
        scheme, rest = found[1].lower(), found[2]
    elif text.startswith(":"):
        return None
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        return Url(scheme, rest, "", "", "", query) if scheme else None
    user = host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")) and scheme:
        authority, slash, path = rest[2:].partition("/")
        user, at, host = authority.rpartition("@")
        read = _read_host(host)
        if read is None or (at and (not _USER.fullmatch(user) or _ESCAPES.search(user))):
            return None
        host, rest = read, slash + path
    escaped = _escape_path(rest)
    return None if escaped is None else Url(scheme, "", user, host, escaped, query)


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise no_such_overload()


def url(text: Value) -> Value:
    """`url(text)`."""
    body = _text(text)
    if read_url(body) is None:
        raise EvalError(f"URL parse error during conversion from string {text!r}")
    found = read_url(body.partition("#")[0])  # the value, unlike the check, knows fragments
    if found is None:
        raise EvalError(f"URL parse error during conversion from string {text!r}")
    return found


def is_url(text: Value) -> Value:
    """`isURL(text)`."""
    return read_url(_text(text)) is not None


def _url(value: Value) -> Url:
    if isinstance(value, Url):
        return value
    raise no_such_overload()


def scheme(value: Value) -> Value:
    """`u.getScheme()`."""
    return _url(value).scheme


def host(value: Value) -> Value:
    """`u.getHost()`: with its port."""
    return _url(value).host


def hostname(value: Value) -> Value:
    """`u.getHostname()`: without port and brackets."""
    split = _host_and_port(_url(value).host)
    name = split[0] if split else _url(value).host
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def port(value: Value) -> Value:
    """`u.getPort()`."""
    split = _host_and_port(_url(value).host)
    return split[1][1:] if split else ""


def escaped_path(value: Value) -> Value:
    """`u.getEscapedPath()`."""
    return _url(value).path


def _unescape_query(text: str) -> str | None:
    if _ESCAPES.search(text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


def query(value: Value) -> Value:
    """`u.getQuery()`: each key with its values; malformed pairs are left out."""
    found: dict[Key, Value] = {}
    for pair in _url(value).query.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, content = pair.partition("=")
        key, item = _unescape_query(name), _unescape_query(content)
        if key is not None and item is not None:
            have = found.get(key, ())
            found[key] = (*have, item) if isinstance(have, tuple) else (item,)
    return found
