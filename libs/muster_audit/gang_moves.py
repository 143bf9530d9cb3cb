"""The one move that lets a gang in: which pod with its claims, and where to."""

from collections.abc import Iterable
from dataclasses import replace

from muster_audit.gang_planning import Members, Planning, booking_of, domains_of, nodes_of
from muster_audit.gangs import Subject
from muster_audit.parts import Json, part
from muster_audit.pod_classes import gang_of, template_of
from muster_dra import AllocatedState
from muster_plan import InvalidGang, Plan, Pod
from muster_plan.booked_devices import hold
from muster_types import ObjectKey

_TRIED = 24
_NAME = "muster.dev/audit-move"


def move_for(subject: Subject, planning: Planning, key: str) -> str:
    """ "move batch-b-0 to r1-n2, then r2 holds the gang"; "" where no single move of a pod helps.

    With a label key the domains that come nearest are tried first. Pods of a higher priority are left alone.
    """
    for holder in list(_holders(subject, planning, key))[:_TRIED]:
        found = _tried(holder, subject, planning)
        if found:
            return found
    return ""


def _holders(subject: Subject, planning: Planning, key: str) -> Iterable[ObjectKey]:
    """Bound pods with claims, those in the nearest domain first, those with the fewest devices first."""
    snapshot = planning.present
    rank: dict[str, int] = {}
    if key:
        members = Members.of(subject, planning)
        fleet = planning.surveyor.fleet
        nearest = sorted(domains_of(key, fleet).items(), key=lambda item: (-members.seated(planning, item[1]), item[0]))
        rank = {fleet.nodes[place].name: order for order, (_, places) in enumerate(nearest) for place in places}
    found: list[tuple[int, int, ObjectKey]] = []
    for node, pods in snapshot.pods_by_node.items():
        for pod_key, pod in pods.items():
            if pod.spec.claims and pod.spec.priority <= subject.priority and pod.spec.pod_group != subject.key.name:
                found.append((rank.get(node, len(rank)), _devices(pod, planning), pod_key))
    return [each for _, _, each in sorted(found)]


def _devices(pod: Pod, planning: Planning) -> int:
    claims = [planning.present.claim(pod.namespace, name) for name in _claim_names(pod)]
    return sum(len(each.allocation.devices) for each in claims if each is not None and each.allocation is not None)


def _claim_names(pod: Pod) -> list[str]:
    names = [pod.claim_names.get(entry.name, "") or entry.claim for entry in pod.spec.claims]
    return [name for name in names if name]


def _tried(holder: ObjectKey, subject: Subject, planning: Planning) -> str:
    frame = planning.scene.cluster.frame
    pod = planning.present.tables.pods[holder]
    claims = [frame.objects.get(ObjectKey("ResourceClaim", pod.namespace, name)) for name in _claim_names(pod)]
    freed = planning.present.apply([_unallocated(each) for each in claims if each is not None], gone=(holder,))
    freed = replace(freed, allocated=_less(planning, pod))
    template = template_of(_unbound(frame.objects[holder]), _NAME, freed)
    freed = freed.apply([template])
    moved = replace(planning, present=freed)
    found = moved.now(subject.gang)
    if not isinstance(found, Plan):
        return ""
    booking = booking_of(subject.gang, found)
    after = replace(
        freed.with_bookings([*freed.bookings.values(), booking]), allocated=hold(freed.allocated, [booking])
    )
    other = gang_of("move", pod.namespace, "move", {_NAME: 1}, after)
    if isinstance(other, InvalidGang):
        return ""
    target = replace(planning, present=after).now(other)
    if not isinstance(target, Plan):
        return ""
    where = found.domains[0].value if found.domains else ", ".join(nodes_of(found.placements))
    return f"move {holder.name} to {', '.join(nodes_of(target.placements))}, then {where} holds the gang"


def _less(planning: Planning, pod: Pod) -> AllocatedState:
    """The state without what the pod's claims hold."""
    allocated = planning.present.allocated
    for name in _claim_names(pod):
        claim = planning.present.claim(pod.namespace, name)
        if claim is not None and claim.allocation is not None:
            allocated = allocated.minus(claim.allocation.devices, claim.full_name)
    return allocated


def _unallocated(claim: Json) -> Json:
    return {name: value for name, value in claim.items() if name != "status"}


def _unbound(pod: Json) -> Json:
    spec = {name: value for name, value in part(pod, "spec").items() if name not in ("nodeName", "schedulingGroup")}
    return {**pod, "spec": spec}
