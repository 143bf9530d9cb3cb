"""The cluster as one gang may use it: its own templates and nodes, everybody else's bookings, real headroom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from muster_claim_matcher.domain import labels
from muster_claim_matcher.domain.consumption import unbound_members
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.wishes import Wish
from muster_plan import BookedPod, ClusterNode, GroupOrder, NodeGroup, Pod, Snapshot, Taint
from muster_plan import Booking as PlannedBooking
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey

_FROM_REQUEST = frozenset({"PodTemplate", "ResourceClaimTemplate"})
"""What a request means was fixed when it was accepted; later edits of these are drift, not a new wish."""
_GIVEN_BACK = "%given-back"
"""Holder of a node that was ordered for the gang and that the gang must not use any more; no gang has this id."""
_UNLESS_OBSERVED = frozenset({"PodGroup", "ResourceClaim"})
"""These have a life of their own (allocations, claims of the group): what the cluster shows is newer."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One booking with what is known of its gang: its pods in the cluster, and its wish unless that is not known."""

    booking: Booking
    pods: tuple[Pod, ...]
    wish: Wish | None


def view_for(
    snapshot: Snapshot,
    gang: GangId,
    wish: Wish,
    bookings: Mapping[GangId, Holding],
    usable: Iterable[NodeName],
    staying: Holding | None = None,
) -> Snapshot:
    """`bookings` are those of all gangs; the gang's own is left out, for its next plan takes the place of it, but for
    what of it is `staying`.
    `usable` are the nodes ordered for the gang that it may use; other reserved nodes are nobody's."""
    others = {other: holding for other, holding in bookings.items() if other != gang}
    if staying is not None:
        others[gang] = staying
    view = _with_wish(snapshot, wish)
    view = with_real_sizes(view)
    view = _with_reservations(view, gang, frozenset(usable), frozenset(bookings))
    return view.with_bookings(to_bookings(others, snapshot))


def open_view(snapshot: Snapshot, bookings: Mapping[GangId, Holding]) -> Snapshot:
    """The cluster as anybody without a reservation may use it."""
    view = _with_reservations(with_real_sizes(snapshot), None, frozenset(), frozenset(bookings))
    return view.with_bookings(to_bookings(bookings, snapshot))


def to_bookings(bookings: Mapping[GangId, Holding], snapshot: Snapshot) -> list[PlannedBooking]:
    """The ledger in the planner's terms.

    A member whose pod is bound takes no room of its own any more, but its devices stay booked until the whole gang is
    released: the scheduler may have given the pod those of another member.
    """
    return [_to_booking(gang, bookings[gang], snapshot) for gang in sorted(bookings)]


def with_real_sizes(snapshot: Snapshot) -> Snapshot:
    """With the nodes that count against each group's maximum.

    The simulated cloud leaves `currentSize` as it was declared, so its ordered nodes are added; other drivers keep it
    up to date, perhaps late, so the nodes that are seen count if they are more.
    """
    ordered: dict[str, int] = {}
    members: dict[str, int] = {}
    groups = snapshot.tables.groups
    for node in snapshot.tables.nodes.values():
        name = node.labels.get(labels.NODE_GROUP, "")
        if name and node.labels.get(labels.ORDER):
            ordered[name] = ordered.get(name, 0) + 1
        if name:
            members[name] = members.get(name, 0) + 1
    changed: dict[ObjectKey, NodeGroup] = {}
    for key, group in groups.items():
        if group.driver == "simulated":
            size = group.current_size + ordered.get(group.name, 0)
        else:
            size = max(group.current_size, members.get(group.name, 0))
        changed[key] = group if size == group.current_size else replace(group, current_size=size)
    return replace(snapshot, tables=replace(snapshot.tables, groups=changed))


def _with_wish(snapshot: Snapshot, wish: Wish) -> Snapshot:
    put = [
        obj
        for obj in wish.objects
        if obj.get("kind") in _FROM_REQUEST or (obj.get("kind") in _UNLESS_OBSERVED and not _is_observed(snapshot, obj))
    ]
    return snapshot.apply(put) if put else snapshot


def _is_observed(snapshot: Snapshot, obj: Mapping[str, object]) -> bool:
    meta = obj.get("metadata")
    kind = str(obj.get("kind"))
    if not isinstance(meta, Mapping):
        return False
    key = ObjectKey(kind, str(meta.get("namespace") or "default"), str(meta.get("name")))
    table = snapshot.tables.pod_groups if kind == "PodGroup" else snapshot.tables.claims
    return key in table


def _with_reservations(
    snapshot: Snapshot, gang: GangId | None, usable: frozenset[NodeName], booked: frozenset[GangId]
) -> Snapshot:
    """A reserved node is for its gang alone, and for the gang only if it is among those that it may use.

    A node that shows the label of a gang with a booking is reserved, also while its taint is still to come.
    """
    changed: dict[ObjectKey, ClusterNode] = {}
    for key, node in snapshot.tables.nodes.items():
        holder = _reserved_for(node, booked)
        if holder is None:
            continue
        value = _GIVEN_BACK if holder == gang and node.name not in usable else holder
        others = tuple(taint for taint in node.taints if taint.key != labels.RESERVATION)
        taints = (*others, Taint(labels.RESERVATION, value, "NoSchedule"))
        if taints != node.taints:
            changed[key] = replace(node, taints=taints)
    if not changed:
        return snapshot
    return replace(snapshot, tables=replace(snapshot.tables, nodes={**snapshot.tables.nodes, **changed}))


def _reserved_for(node: ClusterNode, booked: frozenset[GangId]) -> str | None:
    for taint in node.taints:
        if taint.key == labels.RESERVATION and taint.blocks:
            return taint.value
    label = node.labels.get(labels.GANG)
    return label if label in booked else None


def _to_booking(gang: GangId, holding: Holding, snapshot: Snapshot) -> PlannedBooking:
    booking = holding.booking
    unbound = unbound_members(booking.members, (pod for pod in holding.pods if pod.node and not pod.finished))
    templates = _labels_of(holding.wish)
    namespace = "" if holding.wish is None else holding.wish.namespace
    return PlannedBooking(
        gang=gang,
        pods=tuple(
            BookedPod(
                target=member.target,
                namespace=namespace,
                labels=templates.get(member.pod_set, {}),
                requests=dict(member.resources) if (member.pod_set, member.index) in unbound else {},
                claims=member.claims,
            )
            for member in booking.members
        ),
        pending=_pending(gang, booking, snapshot),
    )


def shown_nodes(gang: GangId, booking: Booking, snapshot: Snapshot) -> dict[str, int]:
    """Nodes of the booking's orders that the cluster shows, by group."""
    prefix = labels.order_prefix(gang, booking.attempt)
    shown: dict[str, int] = {}
    for node in snapshot.tables.nodes.values() if booking.orders else ():
        if node.labels.get(labels.ORDER, "").startswith(prefix):
            group = node.labels.get(labels.NODE_GROUP, "")
            shown[group] = shown.get(group, 0) + 1
    return shown


def _pending(gang: GangId, booking: Booking, snapshot: Snapshot) -> tuple[GroupOrder, ...]:
    """Ordered nodes that no group counts, because the cluster does not show them: not yet, or, of a gang on its way
    out, no more. The ledger counts them until the release, so the planner must."""
    shown = shown_nodes(gang, booking, snapshot)
    open_orders = [
        GroupOrder(NodeGroupName(order.group), order.count - shown.get(order.group, 0)) for order in booking.orders
    ]
    return tuple(order for order in open_orders if order.count > 0)


def _labels_of(wish: Wish | None) -> dict[str, Mapping[str, str]]:
    """Pod labels by template name, which is the name of the pod set (a repeated template gets a number: no labels)."""
    found: dict[str, Mapping[str, str]] = {}
    for obj in () if wish is None else wish.objects:
        match obj:
            case {"kind": "PodTemplate", "metadata": {"name": str(name)}, "template": {"metadata": {"labels": labels}}}:
                if isinstance(labels, Mapping):
                    found[name] = {str(key): str(value) for key, value in labels.items()}
            case _:
                pass
    return found
