"""`ip()`, `cidr()` and their methods, with the strict reading of Go's `net/netip`."""

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from muster_dra.cel.values import EvalError, Value, no_such_overload

_BITS = re.compile(r"0|[1-9][0-9]*", re.ASCII)
Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address, neither zoned nor IPv4 inside of IPv6."""

    address: Address

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "net.IP"

    def equals(self, other: Value) -> bool:
        """Equality. Raises EvalError for another type."""
        if isinstance(other, Ip):
            return self.address == other.address
        raise no_such_overload()

    def __str__(self) -> str:
        return str(self.address)

    def __len__(self) -> int:
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network prefix: the address as written, host bits included, and its length in bits."""

    address: Address
    bits: int

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "net.CIDR"

    def equals(self, other: Value) -> bool:
        """Equality. Raises EvalError for another type."""
        if isinstance(other, Cidr):
            return (self.address, self.bits) == (other.address, other.bits)
        raise no_such_overload()

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def __len__(self) -> int:
        return (self.bits + 7) // 8


@lru_cache(1024)
def _read_address(text: str) -> Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and (found.scope_id is not None or found.ipv4_mapped is not None):
        return None
    return found


@lru_cache(1024)
def _read_prefix(text: str) -> Cidr | None:
    head, slash, tail = text.rpartition("/")
    address = _read_address(head) if slash else None
    if address is None or not _BITS.fullmatch(tail) or len(tail) > 3 or int(tail) > address.max_prefixlen:
        return None
    return Cidr(address, int(tail))


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise no_such_overload()


def ip(text: Value) -> Value:
    """`ip(text)`."""
    found = _read_address(_text(text))
    if found is None:
        raise EvalError(f"IP address {text!r} can't be parsed, is zoned or is an IPv4-mapped IPv6 address")
    return Ip(found)


def is_ip(text: Value) -> Value:
    """`isIP(text)`."""
    return _read_address(_text(text)) is not None


def is_canonical(text: Value) -> Value:
    """`ip.isCanonical(text)`."""
    return str(ip(text)) == text


def cidr(text: Value) -> Value:
    """`cidr(text)`."""
    found = _read_prefix(_text(text))
    if found is None:
        raise EvalError(f"network address parse error during conversion from string {text!r}")
    return found


def is_cidr(text: Value) -> Value:
    """`isCIDR(text)`."""
    return _read_prefix(_text(text)) is not None


def _ip(value: Value) -> Address:
    if isinstance(value, Ip):
        return value.address
    raise no_such_overload()


def _cidr(value: Value) -> Cidr:
    if isinstance(value, Cidr):
        return value
    raise no_such_overload()


def family(value: Value) -> Value:
    """`i.family()`: 4 or 6."""
    return _ip(value).version


def is_unspecified(value: Value) -> Value:
    """`i.isUnspecified()`."""
    return _ip(value).is_unspecified


def is_loopback(value: Value) -> Value:
    """`i.isLoopback()`."""
    return _ip(value).is_loopback


def is_link_local_multicast(value: Value) -> Value:
    """`i.isLinkLocalMulticast()`: 224.0.0.0/24, ffx2::/16."""
    address = _ip(value)
    if isinstance(address, IPv4Address):
        return int(address) >> 8 == 0xE00000
    return int(address) >> 112 & 0xFF0F == 0xFF02


def is_link_local_unicast(value: Value) -> Value:
    """`i.isLinkLocalUnicast()`."""
    return _ip(value).is_link_local


def is_global_unicast(value: Value) -> Value:
    """`i.isGlobalUnicast()`: as Go has it, private ranges included."""
    address = _ip(value)
    broadcast = isinstance(address, IPv4Address) and int(address) == 0xFFFFFFFF
    return not (
        broadcast or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    )


def _network_of(prefix: Cidr) -> int:
    return int(prefix.address) >> (prefix.address.max_prefixlen - prefix.bits)


def contains_ip(value: Value, other: Value) -> Value:
    """`c.containsIP(ip or text)`."""
    prefix = _cidr(value)
    address = _ip(ip(other) if isinstance(other, str) else other)
    if address.version != prefix.address.version:
        return False
    return int(address) >> (address.max_prefixlen - prefix.bits) == _network_of(prefix)


def contains_cidr(value: Value, other: Value) -> Value:
    """`c.containsCIDR(cidr or text)`."""
    prefix = _cidr(value)
    inner = _cidr(cidr(other) if isinstance(other, str) else other)
    return prefix.bits <= inner.bits and contains_ip(prefix, Ip(inner.address))


def ip_of(value: Value) -> Value:
    """`c.ip()`: the address as written."""
    return Ip(_cidr(value).address)


def prefix_length(value: Value) -> Value:
    """`c.prefixLength()`."""
    return _cidr(value).bits


def masked(value: Value) -> Value:
    """`c.masked()`: the prefix with its host bits cleared."""
    prefix = _cidr(value)
    return Cidr(ip_network(str(prefix), strict=False).network_address, prefix.bits)
