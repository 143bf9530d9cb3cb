"""From chosen devices to a claim's allocation: node selector and configuration (dra-semantics §3.10)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster_dra.amounts import Amount
from muster_dra.features import Features, Release
from muster_dra.objects.classes import DeviceClass
from muster_dra.objects.node_selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster_dra.objects.slices import Device, NodePlace, PoolId, ResourceSlice
from muster_dra.outcome import AllocatedConfig, ClaimAllocation, ConfigSource, DeviceResult, Fatal, FatalKind
from muster_dra.prepare import PreparedClaim, PreparedOption
from muster_types import DeviceId


@dataclass(frozen=True, slots=True)
class Pick:
    """One device chosen for one request. `consumed` is None unless it is a share."""

    option: PreparedOption
    pool: PoolId
    slice: ResourceSlice
    device: Device
    consumed: Mapping[str, Amount] | None = None

    def result(self) -> DeviceResult:
        wanted = self.option.wanted
        return DeviceResult(
            self.option.full_name,
            DeviceId(self.pool.driver, self.pool.name, self.device.name),
            self.option.admin,
            self.consumed is not None,
            self.consumed or {},
            wanted.tolerations,
            self.device.binding_conditions or (),
            self.device.binding_failure_conditions or (),
            self.slice.skip_node_operations,
        )


def claim_allocation(
    claim: PreparedClaim,
    chosen: Sequence[PreparedOption],
    picks: Sequence[Pick],
    node_name: str,
    features: Features,
) -> ClaimAllocation | Fatal:
    """The allocation of one claim: `chosen` is one option for each request, `picks` are in search order."""
    selector = node_selector((place_of(pick.slice, pick.device), pick.device.binds_to_node) for pick in picks)
    if selector is SEVERAL_TERMS:
        return Fatal(
            FatalKind.NODE_SELECTOR_TERMS,
            f"claim {claim.claim.full_name}: a device is bound to nodes by a selector with more than one term",
        )
    return ClaimAllocation(
        tuple(pick.result() for pick in picks),
        NodeSelector.only(node_name) if selector is PINNED else selector,
        allocated_config(claim, chosen, features),
    )


PINNED = NodeSelector((NodeSelectorTerm(),))
"""Stands for the selector of one node, whose name the caller knows."""
SEVERAL_TERMS = NodeSelector((NodeSelectorTerm(), NodeSelectorTerm()))
"""Stands for a selector that cannot be made: a successful search ends as Fatal."""


def place_of(slice_: ResourceSlice, device: Device) -> NodePlace:
    """Whose node fields bind a device: its own in a per-device slice, else those of the slice."""
    return device.place if slice_.per_device_nodes else slice_.place


def node_selector(places: Iterable[tuple[NodePlace, bool]]) -> NodeSelector | None:
    """From the places of a claim's devices and whether each binds to the node; PINNED and SEVERAL_TERMS are marks."""
    fields: dict[tuple[str, str, frozenset[str]], Requirement] = {}
    expressions: dict[tuple[str, str, frozenset[str]], Requirement] = {}
    for place, binds in places:
        if place.node_name or binds:
            return PINNED
        if place.all_nodes or place.selector is None:
            continue
        if len(place.selector.terms) > 1:
            return SEVERAL_TERMS
        for term in place.selector.terms:
            for requirement in term.fields:
                fields.setdefault(requirement.identity, requirement)
            for requirement in term.expressions:
                expressions.setdefault(requirement.identity, requirement)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions.values()), tuple(fields.values())),))


def allocated_config(
    claim: PreparedClaim, chosen: Sequence[PreparedOption], features: Features
) -> tuple[AllocatedConfig, ...]:
    """Class configurations in the order of requests, each class once, then the claim's that concern a chosen option."""
    corrected = features.release is not Release.V1_36
    everything = {option.request for option in chosen}

    def named(requests: Sequence[str]) -> tuple[str, ...]:
        covers = corrected and {name.partition("/")[0] for name in requests} >= everything
        return () if covers else tuple(requests)

    users: dict[str, tuple[DeviceClass, list[str]]] = {}
    for option in chosen:
        users.setdefault(option.device_class.name, (option.device_class, []))[1].append(option.full_name)
    found = [
        AllocatedConfig(ConfigSource.FROM_CLASS, named(names), config)
        for device_class, names in users.values()
        for config in device_class.config
    ]
    known = {name for option in chosen for name in (option.request, option.full_name)}
    for config in claim.claim.spec.config:
        concerned = [name for name in config.requests if name in known]
        if config.requests and not concerned:
            continue
        repeats = 1 if corrected else max(len(concerned), 1)
        found += [AllocatedConfig(ConfigSource.FROM_CLAIM, named(config.requests), config.config)] * repeats
    return tuple(found)
