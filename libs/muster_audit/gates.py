"""Which feature gates a cluster has on, by what its objects hold: the API server drops or refuses fields of gates that
are off (dra-semantics §1, D5)."""

from collections.abc import Iterator

from muster_audit.frames import Frame
from muster_audit.parts import Json, items, mapping, part, parts
from muster_dra import Features, Meaning

_LISTS = frozenset({"ints", "bools", "strings", "versions"})
_DERIVED = "derivedAttributes"


def features_of(frame: Frame) -> Features:
    """The documented meaning of 1.37 with its default gates, and those whose fields are used."""
    lists = groups = operations = False
    for _, slice_ in frame.of_kind("ResourceSlice"):
        operations = operations or bool(part(slice_, "spec").get("skipNodeOperations"))
        for device in parts(slice_, "spec", "devices"):
            lists = lists or any(not _LISTS.isdisjoint(each) for each in _attributes(device))
            groups = groups or any(each.get("compatibilityGroups") for each in parts(device, "consumesCounters"))
    return Features(
        meaning=Meaning.DOCUMENTED,
        list_type_attributes=lists,
        compatibility_groups=groups,
        derived_attributes=any(_derives(spec) for spec in _claim_specs(frame)),
        optional_node_operations=operations,
    )


def _attributes(device: Json) -> list[Json]:
    found = part(device, "attributes") or part(device, "basic", "attributes")
    return [mapping(value) for value in found.values()]


def _claim_specs(frame: Frame) -> Iterator[Json]:
    for _, claim in frame.of_kind("ResourceClaim"):
        yield part(claim, "spec", "devices")
    for _, template in frame.of_kind("ResourceClaimTemplate"):
        yield part(template, "spec", "spec", "devices")


def _derives(devices: Json) -> bool:
    return any(
        items(option.get(_DERIVED))
        for request in parts(devices, "requests")
        for option in (request, part(request, "exactly"), *parts(request, "firstAvailable"))
    )
