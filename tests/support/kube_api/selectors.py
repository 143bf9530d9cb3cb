"""Label and field selectors (labels.Parse, fields.ParseSelector), as far as clients use them."""

import re
from collections.abc import Callable

from support.kube_api.answers import Json, bad_request, part, text

Test = Callable[[Json], bool]

_SET = re.compile(r"^\s*([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.unschedulable",
    "status.phase",
    "spec.driver",
    # Events are found by what they are about.
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.uid",
)


def label_test(selector: str) -> Test:
    """`a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, joined by commas."""
    tests = [_label(term) for term in re.split(r",(?![^(]*\))", selector) if term.strip()]
    return lambda obj: all(test(part(part(obj, "metadata"), "labels")) for test in tests)


def field_test(selector: str) -> Test:
    """`a=b`, `a==b`, `a!=b` of the fields that the server knows, joined by commas."""
    tests = [_field(term) for term in selector.split(",") if term.strip()]
    return lambda obj: all(test(obj) for test in tests)


def _label(term: str) -> Callable[[Json], bool]:
    found = _SET.match(term)
    if found:
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if "!=" in term:
        key, _, value = term.partition("!=")
        return lambda labels: labels.get(key.strip()) != value.strip()
    if "=" in term:
        key, _, value = term.replace("==", "=").partition("=")
        return lambda labels: labels.get(key.strip()) == value.strip()
    key = term.strip()
    if key.startswith("!"):
        return lambda labels: key[1:].strip() not in labels
    if not re.fullmatch(r"[\w./-]+", key):
        raise bad_request(f"unable to parse requirement: {term!r}")
    return lambda labels: key in labels


def _field(term: str) -> Test:
    negated = "!=" in term
    path, _, value = term.replace("!=", "=").replace("==", "=").partition("=")
    path = path.strip()
    if path not in _FIELDS:
        raise bad_request(f"field label not supported: {path}")

    def test(obj: Json) -> bool:
        head, _, leaf = path.partition(".")
        found = part(obj, head).get(leaf)
        shown = str(found).lower() if isinstance(found, bool) else text(found)
        return (shown == value.strip()) is not negated

    return test
