"""Devices without what no selector, constraint or request looks at: then equal hardware is equal, whatever its serial
numbers, and one answer serves all nodes of a make."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from muster_audit.expressions import looks_everywhere, mentions_of
from muster_dra import Attribute, Catalog, ClaimSpec, Device, ResourceSlice
from muster_dra.attributes import AttributeKind
from muster_plan import Snapshot

_ALWAYS_READABLE = frozenset({AttributeKind.INT, AttributeKind.BOOL, AttributeKind.STRING})
"""Versions may be unreadable, lists may need a gate, unknown types always are."""


def essential(snapshot: Snapshot) -> Snapshot:
    """The same answers to every claim and template of the snapshot, and to those changed in one name or value.

    Attributes stay if any expression or constraint names one like them, in whatever domain; so do those that cannot be
    read, for they end every evaluation (dra-semantics §1.4). An expression that looks at whole maps leaves all.
    """
    names = _names(snapshot)
    if names is None:
        return snapshot
    seen: dict[object, tuple[Device, ...]] = {}
    slices = {
        key: _stripped(slice_, names, seen) if slice_.devices else slice_
        for key, slice_ in snapshot.tables.slices.items()
    }
    tables = replace(snapshot.tables, slices=slices)
    catalog = Catalog.build(
        [slices[key] for key in sorted(slices)],
        [tables.classes[key] for key in sorted(tables.classes)],
        taint_rules=[tables.taint_rules[key] for key in sorted(tables.taint_rules)],
        features=snapshot.features,
    )
    return replace(snapshot, tables=tables, catalog=catalog)


def _names(snapshot: Snapshot) -> frozenset[str] | None:
    """Last parts of all names that anything looks at, in lower case; None where anything may be looked at."""
    tables = snapshot.tables
    specs = [
        *(each.spec for each in tables.claims.values()),
        *(each.spec for each in tables.claim_templates.values()),
    ]
    expressions = {each for device_class in tables.classes.values() for each in device_class.selectors if each}
    found: set[str] = set()
    for spec in specs:
        expressions.update(_expressions(spec))
        found.update(each.match_attribute or each.distinct_attribute for each in spec.constraints)
    for expression in expressions:
        if looks_everywhere(expression):
            return None
        found.update(mention.name for mention in mentions_of(expression))
    return frozenset(_short(name) for name in found)


def _expressions(spec: ClaimSpec) -> Iterator[str]:
    for request in spec.requests:
        for option in (request.exactly, *request.first_available):
            if option is not None:
                yield from (each for each in option.selectors if each)
                yield from (each.expression for each in option.derived)


def _short(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _stripped(slice_: ResourceSlice, names: frozenset[str], seen: dict[object, tuple[Device, ...]]) -> ResourceSlice:
    devices = tuple(replace(device, attributes=_kept(device.attributes, names)) for device in slice_.devices)
    # Devices hold maps, so their text is what can be compared; equal ones become one value.
    return replace(slice_, devices=seen.setdefault((slice_.pool.driver, repr(devices)), devices))


def _kept(attributes: Mapping[str, Attribute], names: frozenset[str]) -> dict[str, Attribute]:
    return {
        name: each for name, each in attributes.items() if _short(name) in names or each.kind not in _ALWAYS_READABLE
    }
