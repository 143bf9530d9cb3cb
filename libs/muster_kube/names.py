"""Rules for names, keys and versions. Each function gives the reason why a text is refused, or "" when it is fine.

Source: `k8s.io/apimachinery/pkg/util/validation` and dra-semantics §1.1 (qualified names, versions).
"""

import re
from functools import lru_cache

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
# semver.org 2.0.0, as the API server checks it.
_SEMVER = re.compile(
    r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


@lru_cache(1 << 14)
def dns_label(text: str) -> str:
    """A DNS label (RFC 1123), at most 63 characters: devices, requests, counters, namespaces."""
    if len(text) > 63:
        return f"{text[:20]!r}… is longer than 63 characters"
    if not _LABEL.fullmatch(text):
        return f"{text!r} is no DNS label; use lower case letters, digits and '-', for example gpu-0"
    return ""


@lru_cache(1 << 15)
def dns_subdomain(text: str, most: int = 253) -> str:
    """A DNS subdomain (RFC 1123): object names and drivers."""
    if len(text) > most:
        return f"{text[:20]!r}… is longer than {most} characters"
    if not _SUBDOMAIN.fullmatch(text):
        return f"{text[:80]!r} is no DNS subdomain; use lower case letters, digits, '-' and '.'"
    return ""


def driver_name(text: str) -> str:
    """A DRA driver (dra-semantics §1.2)."""
    return dns_subdomain(text, 63)


@lru_cache(1 << 12)
def pool_name(text: str) -> str:
    """One or more DNS subdomains joined by '/', at most 253 characters (dra-semantics §1.2)."""
    if len(text) > 253:
        return f"{text[:20]!r}… is longer than 253 characters"
    if not text or any(dns_subdomain(part) for part in text.split("/")):
        return f"{text!r} is no pool name; use DNS subdomains joined by '/'"
    return ""


@lru_cache(1 << 12)
def qualified_name(text: str) -> str:
    """`id` or `domain/id` (dra-semantics §1.1): attributes and capacities."""
    domain, slash, identifier = text.rpartition("/")
    if len(identifier) > 32:
        return f"{identifier[:20]!r}… is longer than 32 characters"
    if not _C_IDENTIFIER.fullmatch(identifier):
        return f"{identifier!r} is no identifier; use letters, digits and '_', not beginning with a digit"
    if slash and dns_subdomain(domain, 63):
        return f"the domain {domain[:80]!r} is no DNS subdomain of at most 63 characters"
    return ""


def fully_qualified_name(text: str) -> str:
    """`domain/id`: the attribute of a constraint."""
    if "/" not in text:
        return f"{text!r} has no domain; write it as DRIVER/{text or 'name'}"
    return qualified_name(text)


@lru_cache(1 << 12)
def semantic_version(text: str) -> str:
    """A semantic version 2.0.0 without leading 'v', at most 64 characters."""
    if len(text) > 64:
        return f"{text[:20]!r}… is longer than 64 characters"
    if not _SEMVER.fullmatch(text):
        return f"{text!r} is not a semantic version; write it as MAJOR.MINOR.PATCH without a leading v"
    return ""


@lru_cache(1 << 14)
def label_key(text: str) -> str:
    """The key of a label, annotation, taint or extended resource: an optional DNS subdomain, '/', a name."""
    prefix, slash, name = text.rpartition("/")
    if len(name) > 63 or not _LABEL_NAME.fullmatch(name):
        return f"{text[:80]!r} is no key; its name has 1 to 63 letters, digits, '-', '_' and '.'"
    if slash and dns_subdomain(prefix):
        return f"{text[:80]!r} is no key; what stands before '/' is a DNS subdomain"
    return ""


@lru_cache(1 << 15)
def label_value(text: str) -> str:
    """The value of a label: up to 63 letters, digits, '-', '_' and '.', or nothing."""
    if text and (len(text) > 63 or not _LABEL_NAME.fullmatch(text)):
        return f"{text[:80]!r} is no label value; use at most 63 letters, digits, '-', '_' and '.'"
    return ""
