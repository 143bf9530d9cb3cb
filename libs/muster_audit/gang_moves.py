"""The one move that lets a gang in: which pod with its claims, and where to."""

from collections.abc import Iterable
from dataclasses import replace

from muster_audit.gang_planning import Planning, booking_of, nodes_of
from muster_audit.gang_scope import Scope
from muster_audit.gangs import Subject
from muster_audit.parts import Json, part
from muster_audit.pod_classes import gang_of, template_of
from muster_dra import AllocatedState
from muster_plan import InvalidGang, Plan, Pod
from muster_plan.booked_devices import hold
from muster_types import ObjectKey

_TRIED = 24
_NAME = "muster.dev/audit-move"


def move_for(subject: Subject, scope: Scope, key: str) -> str:
    """ "move batch-b-0 to r1-n2, then r2 holds the gang"; "" where no single move of a pod helps.

    With a label key the domains that come nearest are tried first. Pods of a higher priority are left alone.
    """
    for holder in list(_holders(subject, scope, key))[:_TRIED]:
        found = _tried(holder, subject, scope)
        if found:
            return found
    return ""


def _holders(subject: Subject, scope: Scope, key: str) -> Iterable[ObjectKey]:
    """Bound pods with claims, those in the nearest domain first, those with the fewest devices first."""
    planning = scope.planning
    fleet = planning.surveyor.fleet
    rank: dict[str, int] = {}
    if key:
        nearest = sorted(scope.known(), key=lambda each: (-scope.members.seated(planning, each[1]), each[0]))
        rank = {fleet.nodes[place].name: order for order, (_, places) in enumerate(nearest) for place in places}
    found: list[tuple[int, int, ObjectKey]] = []
    for node, pods in planning.present.pods_by_node.items():
        for pod_key, pod in pods.items():
            movable = pod.spec.priority <= subject.priority and pod.spec.pod_group != subject.key.name
            if pod.spec.claims and movable and _alone(pod, planning):
                held = _devices(pod, planning)
                if scope.could_gain(fleet.place_of.get(node), held):
                    found.append((rank.get(node, len(rank)), held, pod_key))
    return [each for _, _, each in sorted(found)]


def _devices(pod: Pod, planning: Planning) -> int:
    claims = [planning.present.claim(pod.namespace, name) for name in _claim_names(pod)]
    return sum(len(each.allocation.devices) for each in claims if each is not None and each.allocation is not None)


def _alone(pod: Pod, planning: Planning) -> bool:
    """Whether nobody else uses the pod's claims."""
    claims = [planning.present.claim(pod.namespace, name) for name in _claim_names(pod)]
    return all(each is not None and len(each.reserved_for) <= 1 for each in claims)


def _claim_names(pod: Pod) -> list[str]:
    names = [pod.claim_names.get(entry.name, "") or entry.claim for entry in pod.spec.claims]
    return [name for name in names if name]


def _tried(holder: ObjectKey, subject: Subject, scope: Scope) -> str:
    planning = scope.planning
    frame = planning.scene.cluster.frame
    pod = planning.present.tables.pods[holder]
    claims = [frame.objects.get(ObjectKey("ResourceClaim", pod.namespace, name)) for name in _claim_names(pod)]
    freed = planning.present.apply([_unallocated(each) for each in claims if each is not None], gone=(holder,))
    freed = replace(freed, allocated=_less(planning, pod))
    template = template_of(_unbound(frame.objects[holder]), _NAME, freed)
    freed = freed.apply([template])
    place = planning.surveyor.fleet.place_of.get(pod.node)
    found = scope.around(replace(planning, present=freed), place).now(subject.gang)
    if not isinstance(found, Plan):
        return ""
    booking = booking_of(subject.gang, found)
    after = replace(
        freed.with_bookings([*freed.bookings.values(), booking]), allocated=hold(freed.allocated, [booking])
    )
    other = gang_of("move", pod.namespace, "move", {_NAME: 1}, after)
    if isinstance(other, InvalidGang):
        return ""
    target = scope.with_room(replace(planning, present=after), _devices(pod, planning)).now(other)
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
