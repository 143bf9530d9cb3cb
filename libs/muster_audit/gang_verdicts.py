"""Verdicts on gangs: PodGroups and ProvisioningRequests, with a row for each of their pending pods."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from muster_audit.demands import faults_of, waiting_for
from muster_audit.gang_moves import move_for
from muster_audit.gang_planning import (
    Members,
    Planning,
    booking_of,
    devices_of,
    domain_keys,
    domains_of,
    nodes_of,
    orders_text,
    without_topology,
)
from muster_audit.gangs import Subject, Unreadable
from muster_audit.growth import Growth, growth
from muster_audit.misses import misses
from muster_audit.quotas import Exceeded
from muster_audit.reasons import Explainer, Why
from muster_audit.remedies import Remedies
from muster_audit.rows import Row
from muster_audit.scene import Hold, Scene
from muster_audit.wording import counted, listed
from muster_audit.words import CURABLE, Cause, ScaleUp, Word
from muster_plan import Booking, ExistingNode, NoPlan, NoPlanKind, Plan
from muster_plan.claims import CONSUMER_LIMIT
from muster_plan.gang import OwnClaim
from muster_types import NodeGroupName, ObjectKey

_DOMAINS = 8
"""Domains that a sentence names."""


@dataclass(frozen=True, slots=True)
class GangJudgement:
    """The gang's own row, those of its pods, what it would order, and what groups say of one pod of each set."""

    row: Row
    members: tuple[Row, ...] = ()
    orders: tuple[tuple[NodeGroupName, int], ...] = ()
    growths: tuple[Growth, ...] = ()
    booking: Booking | None = None
    hold: Hold | None = None


@dataclass(slots=True)
class GangJudge:
    """Judges gangs one after the other; of gangs that are alike the earlier ones come first."""

    scene: Scene
    _taken: dict[Hashable, list[Booking]] = field(default_factory=dict[Hashable, list[Booking]])
    _plannings: dict[int, Planning] = field(default_factory=dict[int, Planning])

    def judge(self, subject: Subject | Unreadable) -> GangJudgement:
        if isinstance(subject, Unreadable):
            return self._unreadable(subject)
        exceeded = self._over_quota(subject)
        if exceeded is not None:
            why = exceeded.bound.sentence(subject.key.namespace, exceeded.wanted * subject.pods)
            return self._no(subject, Why(Cause.QUOTA, why), f"raise quota {exceeded.bound.quota}")
        if subject.running >= subject.wanted and not subject.pods:
            why = f"all {subject.wanted} members run"
            return GangJudgement(Row(str(subject.key), Word.PLACED, why=why))
        crowded = _too_many_consumers(subject)
        if crowded:
            remedy = "let the pods share it as a claim of their PodGroup: the group counts as one consumer"
            return self._no(subject, Why(Cause.API_LIMIT, crowded), remedy)
        taken = self._taken.get(subject.likeness, [])
        planning = self._planning(taken)
        found = planning.now(subject.gang)
        if isinstance(found, Plan):
            return self._feasible(subject, found)
        return _Unmet(subject, planning, self.scene, found).judge()

    def _planning(self, taken: Sequence[Booking]) -> Planning:
        if taken:
            return Planning.of(self.scene, self.scene.held.careful, taken)
        key = id(self.scene)
        if key not in self._plannings:
            self._plannings[key] = Planning.of(self.scene, self.scene.held.careful)
        return self._plannings[key]

    def _unreadable(self, subject: Unreadable) -> GangJudgement:
        cause, why, remedy = faults_of(subject.fault, self.scene.cluster)
        rows = [_no_row(key, cause, why, remedy) for key in (subject.key, *subject.members)]
        return GangJudgement(rows[0], tuple(rows[1:]))

    def _over_quota(self, subject: Subject) -> Exceeded | None:
        specs = [
            entry.spec
            for pod_set in subject.gang.pod_sets
            for entry in pod_set.claims
            for _ in range(pod_set.count)
            if isinstance(entry, OwnClaim)
        ]
        return self.scene.quotas.allowed(subject.key.namespace, specs, 1)[1]

    def _no(self, subject: Subject, why: Why, remedy: str) -> GangJudgement:
        row = _no_row(subject.key, why.cause, why.text, remedy)
        members = [key for keys in subject.members.values() for key in keys]
        return GangJudgement(row, tuple(_no_row(key, why.cause, why.text, remedy) for key in members))

    def _feasible(self, subject: Subject, found: Plan) -> GangJudgement:
        domain = f" in {found.domain}" if found.domain else ""
        text = f"{counted(len(found.placements), 'pod')} fit now{domain}"
        if subject.missing:
            exist = subject.wanted - subject.missing
            text += f"; the gang is incomplete: {exist} of {subject.wanted} pods exist"
        elif subject.running:
            text += f"; {subject.running} of {subject.wanted} run already"
        word = Word.PROVISIONED if subject.only_checks else Word.FEASIBLE
        row = Row(
            str(subject.key),
            word,
            node=", ".join(nodes_of(found.placements)),
            devices=devices_of(found.placements),
            why=text,
        )
        booking = booking_of(subject.gang, found)
        self._taken.setdefault(subject.likeness, []).append(booking)
        hold = None
        if subject.repairs:
            nodes = frozenset(nodes_of(found.placements))
            hold = Hold(subject.key.name, nodes, subject.priority, subject.running, subject.wanted)
        return GangJudgement(row, tuple(self._placed(subject, found)), booking=booking, hold=hold)

    def _placed(self, subject: Subject, found: Plan) -> list[Row]:
        rows: list[Row] = []
        for placement in found.placements:
            keys = subject.members.get(placement.pod_set, ())
            if placement.index < len(keys) and isinstance(placement.target, ExistingNode):
                key = keys[placement.index]
                rows.append(
                    Row(
                        str(key),
                        Word.FEASIBLE,
                        node=placement.target.name,
                        devices=devices_of((placement,)),
                        why=f"it fits now with its gang {subject.key.name}; {waiting_for(self.scene.cluster, key)}",
                    )
                )
        return rows


def _no_row(key: ObjectKey, cause: Cause, why: str, remedy: str, scale_up: ScaleUp = ScaleUp.NEVER) -> Row:
    return Row(str(key), Word.INFEASIBLE, cause.value, why=why, remedy=remedy, scale_up=scale_up)


def _too_many_consumers(subject: Subject) -> str:
    """A claim that more pods would name than its status can list; the minimum of a PodGroup is what counts."""
    gang = subject.gang
    direct: dict[str, int] = {}
    held: dict[str, int] = {}
    for pod_set in gang.pod_sets:
        group = gang.pod_groups.get(pod_set.spec.pod_group)
        least = group.min_count if group is not None else None
        for entry in pod_set.shared_claims:
            if entry.direct:
                existing = entry.claim.existing
                direct[entry.claim.id] = direct.get(entry.claim.id, 0) + min(pod_set.count, least or pod_set.count)
                held[entry.claim.id] = len(existing.reserved_for) if existing is not None else 0
    for name, count in sorted(direct.items()):
        if count + held[name] > CONSUMER_LIMIT:
            beside = f" beside {held[name]} that it has" if held[name] else ""
            return f"{count} direct consumers of {name}{beside}, status.reservedFor allows {CONSUMER_LIMIT}"
    return ""


@dataclass(slots=True)
class _Unmet:
    """A gang that what exists does not take: why, and whether more nodes would help."""

    subject: Subject
    planning: Planning
    scene: Scene
    found: NoPlan

    def judge(self) -> GangJudgement:
        subject = self.subject
        members = Members.of(subject, self.planning)
        why, alone, remedy = self._why(members)
        growths = tuple(
            growth(pod, count, self.scene.potentials, self.scene.snapshot, self.scene.cluster.learned)
            for pod, count in members.wanted
        )
        if subject.ordered_by is not None and why.cause in CURABLE:
            text = f"{why.text}; its capacity is ordered by {subject.ordered_by}"
            return self._rows(replace(why, text=text), alone, remedy or f"see {subject.ordered_by}", ScaleUp.NOT_NEEDED)
        if subject.only_checks:
            return replace(self._rows(why, alone, remedy, ScaleUp.NOT_NEEDED), growths=growths)
        later = self.planning.later(subject.gang) if self.planning.growing.tables.groups else self.found
        if isinstance(later, Plan):
            return self._grown(later, why, growths)
        if later.kind is NoPlanKind.LIMIT:
            text = f"{why.text}; {later.sentence()}"
            helps = "; ".join(each.text for each in later.helps)
            return replace(self._rows(Why(Cause.LIMIT, text), alone, helps, ScaleUp.LIMIT), growths=growths)
        unknown = [each for each in growths if each.unknown]
        if unknown:
            names = listed([each.group.name for each in unknown[0].unknown])
            if why.cause is Cause.NO_INVENTORY and not any(each.options for each in growths):
                return self._untold(names, growths)
            text = f"{why.text}; whether group {names} would help is unknown: no device template"
            return replace(self._rows(replace(why, text=text), alone, remedy, ScaleUp.UNKNOWN), growths=growths)
        return replace(self._rows(why, alone, remedy, ScaleUp.NEVER), growths=growths)

    def _untold(self, names: str, growths: tuple[Growth, ...]) -> GangJudgement:
        row = Row(
            str(self.subject.key),
            Word.NO_SCALE_UP,
            Cause.TEMPLATE_MISSING.value,
            why=f"no node group declares devices of the kind; group {names} has no device template",
            remedy=f"declare in group {names} what its nodes publish (spec.template.resourceSlices)",
            scale_up=ScaleUp.UNKNOWN,
        )
        members = [replace(row, subject=str(key)) for keys in self.subject.members.values() for key in keys]
        return GangJudgement(row, tuple(members), growths=growths)

    def _rows(self, why: Why, alone: tuple[bool, ...], remedy: str, scale_up: ScaleUp) -> GangJudgement:
        """The gang's row; a pod that would fit by itself waits for its gang."""
        subject = self.subject
        row = _no_row(subject.key, why.cause, why.text, remedy, scale_up)
        if subject.only_checks and why.cause in CURABLE:
            row = replace(row, verdict=Word.FAILED, reason=Cause.CAPACITY_NOT_FOUND.value)
        members: list[Row] = []
        for place, pod_set in enumerate(subject.gang.pod_sets):
            for key in subject.members.get(pod_set.name, ()):
                if alone[place]:
                    text = f"it would fit by itself, its gang {subject.key.name} does not: {why.text}"
                    members.append(_no_row(key, Cause.GANG_PARTIAL, text, remedy, scale_up))
                else:
                    members.append(_no_row(key, why.cause, why.text, remedy, scale_up))
        return GangJudgement(row, tuple(members))

    def _grown(self, later: Plan, why: Why, growths: tuple[Growth, ...]) -> GangJudgement:
        subject = self.subject
        repaired = [each.group for each in later.orders if each.group in self.scene.cluster.repaired]
        condition = f", once the template of group {', '.join(repaired)} is repaired" if repaired else ""
        orders = orders_text(later.orders)
        kept = nodes_of(later.placements)
        beside = f" beside {listed(kept)}" if kept else ""
        row = Row(
            str(subject.key),
            Word.SCALE_UP,
            why.cause.value,
            node=", ".join(kept),
            devices=devices_of(later.placements),
            group=", ".join(each.group for each in later.orders),
            nodes=sum(each.count for each in later.orders),
            why=f"{why.text}; {orders}{beside} would hold all {len(later.placements)} pods{condition}",
            remedy=f"add {orders}{condition}",
            scale_up=ScaleUp.HELPS,
        )
        counts = {each.group: each.count for each in later.orders}
        members: list[Row] = []
        for placement in later.placements:
            keys = subject.members.get(placement.pod_set, ())
            if placement.index >= len(keys):
                continue
            own = replace(row, subject=str(keys[placement.index]), devices=devices_of((placement,)))
            if isinstance(placement.target, ExistingNode):
                members.append(replace(own, node=placement.target.name))
            else:
                group = placement.target.group
                members.append(replace(own, node="", group=group, nodes=counts[group]))
        return GangJudgement(row, tuple(members), tuple((each.group, each.count) for each in later.orders), growths)

    def _why(self, members: Members) -> tuple[Why, tuple[bool, ...], str]:
        """The reason, which pod sets' pods would fit one by one, and what would help on what exists."""
        gang = self.subject.gang
        alone = tuple(members.alone(place) for place in range(len(gang.pod_sets)))
        if not all(alone):
            why, remedy = self._of_one(members, alone.index(False))
            return why, alone, remedy
        free = without_topology(gang)
        keys = domain_keys(gang)
        if keys and isinstance(self.planning.now(free), Plan):
            text = self._domains_text(keys[0], members)
            if self.planning.empty(gang):
                return Why(Cause.FRAGMENTATION, text), alone, move_for(self.subject, self.planning, keys[0])
            return Why(Cause.TOPOLOGY_MISMATCH, text), alone, ""
        seated = members.seated(self.planning)
        text = f"{seated} of {counted(self.subject.pods, 'member')} fit"
        if keys:
            text += f"; {self._domains_text(keys[0], members)}"
        if self._enough(members) and self.planning.empty(gang):
            remedy = move_for(self.subject, self.planning, "")
            return Why(Cause.FRAGMENTATION, f"{text}, although enough devices are free in sum"), alone, remedy
        if self.subject.pods == 1 or self.subject.only_checks:
            return Why(Cause.SHORTAGE, f"{text}; {self.found.sentence()}"), alone, ""
        return Why(Cause.GANG_PARTIAL, text), alone, self._free()

    def _free(self) -> str:
        return next((each.text for each in self.found.helps), "")

    def _of_one(self, members: Members, place: int) -> tuple[Why, str]:
        """Not even one pod of a set fits: its reason is the gang's."""
        pod, _ = members.wanted[place]
        surveyor = self.planning.surveyor
        allocated = surveyor.fleet.allocated
        found = misses(pod, members.spots[place], surveyor, allocated, self.scene.cluster)
        why = Explainer(pod, members.spots[place], found, surveyor.fleet, allocated, self.scene).why()
        return why, Remedies(pod, members.spots[place], why, surveyor.fleet, allocated, self.scene).best()

    def _domains_text(self, key: str, members: Members) -> str:
        """How many each domain takes, the best first, and how many fit without regard to domains."""
        pods = self.subject.pods
        found = [
            (members.seated(self.planning, places), value)
            for value, places in domains_of(key, self.planning.surveyor.fleet).items()
        ]
        found.sort(key=lambda each: (-each[0], each[1]))
        short = key.rpartition("/")[2]
        told = ", ".join(
            f"{value} fits {count} of {pods}" for count, value in sorted(found[:_DOMAINS], key=lambda each: each[1])
        )
        most = found[0][0] if found else 0
        text = f"best {short} fits {most} of {pods} ({told})" if told else f"no node has label {key}"
        return f"{text}; {members.seated(self.planning)} of {pods} fit without regard to {short}"

    def _enough(self, members: Members) -> bool:
        """Whether the free devices would do by number, all nodes together."""
        fleet = self.planning.surveyor.fleet
        for pod, count in members.wanted:
            if not pod.claims:
                continue
            needs = [
                _needed(request.exactly.count if request.exactly else 1)
                for claim in pod.claims
                for request in claim.spec.requests
            ]
            total = [0] * len(needs)
            for node in fleet.free(pod.claims):
                for index, free in enumerate(node[: len(needs)]):
                    total[index] += free
            if any(have < need * count for have, need in zip(total, needs, strict=True)):
                return False
        return True


def _needed(count: int) -> int:
    return max(count, 1)
