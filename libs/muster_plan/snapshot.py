"""An immutable view of the cluster and of what could be added to it.

`Snapshot.build` reads everything once; `put`, `remove` and `apply` give the next view for the price of what changed:
tables are copied only where they change, a slice costs its own pool, and what was derived per node stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster_dra import AllocatedState, Catalog, Features, InvalidObject, ResourceClaim, ResourceSlice
from muster_plan.booked_devices import hold
from muster_plan.booking import BookedPod, Booking
from muster_plan.node_groups import NodeGroup, NodeTemplate
from muster_plan.nodes import ClusterNode
from muster_plan.plan_types import ExistingNode
from muster_plan.pods import Pod
from muster_plan.promised import Promise
from muster_plan.tables import Changes, Found, Tables, read_changes
from muster_plan.usage import Usage, usage_of
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey

_NO_PODS: Mapping[ObjectKey, Pod] = {}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`problems` are objects that could not be read and are left out. `held` is what claims hold, `allocated` what
    claims and bookings hold."""

    features: Features
    tables: Tables
    catalog: Catalog
    held: AllocatedState
    allocated: AllocatedState
    bookings: Mapping[GangId, Booking]
    problems: Mapping[ObjectKey, InvalidObject]
    pods_by_node: Mapping[NodeName, Mapping[ObjectKey, Pod]]
    booked_by_node: Mapping[NodeName, tuple[BookedPod, ...]]
    usages: dict[NodeName, Usage] = field(compare=False, repr=False)  # a cache: entries of changed nodes are dropped
    network: tuple[ResourceSlice, ...] = ()  # whole pools with a slice that is not bound to one node, by slice name
    promises: dict[int, tuple[NodeTemplate, Promise]] = field(  # a cache by identity of the template
        default_factory=dict[int, tuple[NodeTemplate, Promise]], compare=False, repr=False
    )

    @classmethod
    def build(cls, objects: Iterable[Mapping[str, object]], *, features: Features | None = None) -> "Snapshot":
        """Reads Kubernetes objects of any order; `List`s must have been opened. Unreadable ones go to `problems`."""
        gates = features or Features.v1_37()
        nothing = AllocatedState.from_claims(())
        catalog = Catalog.build((), (), features=gates)
        return cls(gates, Tables(), catalog, nothing, nothing, {}, {}, {}, {}, {}).apply(objects)

    def put(self, obj: Mapping[str, object]) -> "Snapshot":
        """With one object added or changed."""
        return self.apply((obj,))

    def remove(self, key: ObjectKey) -> "Snapshot":
        """Without one object."""
        return self.apply((), gone=(key,))

    def apply(self, put: Iterable[Mapping[str, object]], gone: Iterable[ObjectKey] = ()) -> "Snapshot":
        """The next view, with many objects changed at once."""
        changes, problems = read_changes(put, gone)
        if not changes and not problems:
            return self
        sound = {key for changed in changes.values() for key in changed}
        kept = {key: problem for key, problem in self.problems.items() if key not in sound}
        return _changed(replace(self, problems={**kept, **problems}), changes)

    def with_bookings(self, bookings: Iterable[Booking]) -> "Snapshot":
        """With exactly these bookings, in place of those it had."""
        ordered = sorted(bookings, key=lambda booking: booking.gang)
        found: dict[NodeName, list[BookedPod]] = {}
        for booking in ordered:
            for member in booking.pods:
                if isinstance(member.target, ExistingNode):
                    found.setdefault(member.target.name, []).append(member)
        by_node = {name: tuple(members) for name, members in found.items()}
        nodes = {*by_node, *self.booked_by_node}
        touched = {name for name in nodes if by_node.get(name) != self.booked_by_node.get(name)}
        return replace(
            self,
            bookings={booking.gang: booking for booking in ordered},
            booked_by_node=by_node,
            allocated=hold(self.held, ordered),
            usages=_without(self.usages, touched),
        )

    def usage(self, name: NodeName) -> Usage:
        """What a node holds: bound pods that are not finished, and booked members."""
        found = self.usages.get(name)
        if found is None:
            pods = self.pods_by_node.get(name, _NO_PODS)
            found = usage_of((pods[key] for key in sorted(pods)), self.booked_by_node.get(name, ()))
            self.usages[name] = found
        return found

    def node(self, name: NodeName) -> ClusterNode | None:
        return self.tables.nodes.get(ObjectKey("Node", "", name))

    def group(self, name: NodeGroupName) -> NodeGroup | None:
        return self.tables.groups.get(ObjectKey("NodeGroup", "", name))

    def claim(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.tables.claims.get(ObjectKey("ResourceClaim", namespace, name))

    def pending_nodes(self, group: NodeGroupName) -> int:
        """Nodes of a group that bookings have ordered and the group does not count yet."""
        return sum(order.count for each in self.bookings.values() for order in each.pending if order.group == group)

    def emptied(self, namespace: str) -> "Snapshot":
        """As if everybody else had left: no pods, no bookings, no claims of other namespaces, no other consumers."""
        claims = self.tables.claims
        own = {key: replace(each, reserved_for=()) for key, each in claims.items() if key.namespace == namespace}
        held = AllocatedState.from_claims([own[key] for key in sorted(own)])
        return replace(
            self,
            tables=replace(self.tables, pods={}, claims=own),
            held=held,
            allocated=held,
            bookings={},
            pods_by_node={},
            booked_by_node={},
            usages={},
        )


def _changed(view: Snapshot, changes: Changes) -> Snapshot:
    before, tables = view.tables, view.tables.changed(changes)
    view = replace(view, tables=tables)
    if "DeviceClass" in changes or "DeviceTaintRule" in changes:
        view = replace(view, catalog=_catalog(view))
    elif slices := changes.get("ResourceSlice"):
        put = [found for _, found in sorted(slices.items()) if isinstance(found, ResourceSlice)]
        gone = [key.name for key, found in sorted(slices.items()) if found is None]
        view = replace(view, catalog=view.catalog.with_slices(put, gone))
    if "ResourceSlice" in changes and _touches_network(view, before, changes["ResourceSlice"]):
        view = replace(view, network=_network(tables))
    if claims := changes.get("ResourceClaim"):
        held = _held(view, before, claims) if len(claims) < len(tables.claims) else _counted(tables)
        view = replace(view, held=held, allocated=hold(held, view.bookings.values()))
    if pods := changes.get("Pod"):
        view = _with_pods(view, before, pods)
    return view


def _touches_network(view: Snapshot, before: Tables, changed: Mapping[ObjectKey, Found | None]) -> bool:
    pools = {each.pool for each in view.network}
    slices = [table[key] for key in changed for table in (before.slices, view.tables.slices) if key in table]
    return any(not each.place.node_name or each.pool in pools for each in slices)


def _network(tables: Tables) -> tuple[ResourceSlice, ...]:
    slices = tables.slices
    pools = {each.pool for each in slices.values() if not each.place.node_name}
    return tuple(slices[key] for key in sorted(slices) if slices[key].pool in pools) if pools else ()


def _catalog(view: Snapshot) -> Catalog:
    tables = view.tables
    return Catalog.build(
        [tables.slices[key] for key in sorted(tables.slices)],
        [tables.classes[key] for key in sorted(tables.classes)],
        taint_rules=[tables.taint_rules[key] for key in sorted(tables.taint_rules)],
        features=view.features,
    )


def _counted(tables: Tables) -> AllocatedState:
    return AllocatedState.from_claims([tables.claims[key] for key in sorted(tables.claims)])


def _held(view: Snapshot, before: Tables, changed: Mapping[ObjectKey, Found | None]) -> AllocatedState:
    """Claim by claim, so that one claim costs its own pools."""
    held = view.held
    for key in sorted(changed):
        old, new = before.claims.get(key), changed[key]
        if old is not None and old.allocation is not None:
            held = held.minus(old.allocation.devices, old.full_name)
        if isinstance(new, ResourceClaim) and new.allocation is not None:
            held = held.plus(new.allocation.devices, new.full_name)
    return held


def _with_pods(view: Snapshot, before: Tables, changed: Mapping[ObjectKey, Found | None]) -> Snapshot:
    by_node = dict(view.pods_by_node)
    touched: set[NodeName] = set()

    def pods_of(name: NodeName) -> dict[ObjectKey, Pod]:
        pods = dict(by_node.get(name, _NO_PODS)) if name not in touched else dict(by_node[name])
        touched.add(name)
        by_node[name] = pods
        return pods

    for key in sorted(changed):
        old, new = before.pods.get(key), changed[key]
        if old is not None and old.node:
            pods_of(old.node).pop(key, None)
        if isinstance(new, Pod) and new.node and not new.finished:
            pods_of(new.node)[key] = new
    return replace(view, pods_by_node=by_node, usages=_without(view.usages, touched))


def _without(usages: dict[NodeName, Usage], touched: set[NodeName]) -> dict[NodeName, Usage]:
    return {name: usage for name, usage in usages.items() if name not in touched} if touched else dict(usages)
