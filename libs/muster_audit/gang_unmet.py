"""A gang that what exists does not take: why, and whether more nodes would help."""

from dataclasses import dataclass, replace

from muster_audit.gang_moves import move_for
from muster_audit.gang_planning import Members, devices_of, domain_keys, nodes_of, orders_text
from muster_audit.gang_scope import Scope
from muster_audit.gangs import Subject
from muster_audit.grounds import Grounds, Why
from muster_audit.growth import Growth, growth
from muster_audit.misses import misses
from muster_audit.reasons import Explainer
from muster_audit.remedies import Remedies
from muster_audit.rows import Row, no_row
from muster_audit.scene import Hold, Scene
from muster_audit.wording import counted, listed
from muster_audit.words import CURABLE, Cause, ScaleUp, Word
from muster_plan import Booking, ExistingNode, NoPlan, NoPlanKind, Plan
from muster_types import NodeGroupName

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
class Unmet:
    """A gang that what exists does not take: why, and whether more nodes would help."""

    subject: Subject
    scope: Scope
    scene: Scene
    found: NoPlan

    def judge(self) -> GangJudgement:
        subject = self.subject
        members, planning = self.scope.members, self.scope.planning
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
        later = self.scope.later() if planning.growing.tables.groups else self.found
        if isinstance(later, Plan):
            return self._grown(later, why, growths)
        if later.kind is NoPlanKind.LIMIT:
            text = f"{why.text}; {later.sentence()}"
            helps = "; ".join(each.text for each in later.helps)
            return replace(self._rows(Why(Cause.LIMIT, text), alone, helps, ScaleUp.LIMIT), growths=growths)
        undeclared = self._undeclared(growths)
        if undeclared is not None:
            text, help_ = undeclared
            cause = Cause.TOPOLOGY_MISMATCH if why.cause is Cause.NO_INVENTORY else why.cause
            text = text if why.cause is Cause.NO_INVENTORY else f"{why.text}; {text}"
            rows = self._rows(
                Why(cause, text), alone, remedy if remedy and cause is why.cause else help_, ScaleUp.UNKNOWN
            )
            return replace(rows, growths=growths)
        unknown = [each for each in growths if each.unknown]
        if unknown:
            names = listed([each.group.name for each in unknown[0].unknown])
            if why.cause is Cause.NO_INVENTORY and not any(each.options for each in growths):
                return self._untold(names, growths)
            text = f"{why.text}; whether group {names} would help is unknown: no device template"
            return replace(self._rows(replace(why, text=text), alone, remedy, ScaleUp.UNKNOWN), growths=growths)
        return replace(self._rows(why, alone, remedy, ScaleUp.NEVER), growths=growths)

    def _undeclared(self, growths: tuple[Growth, ...]) -> tuple[str, str] | None:
        """Of groups whose nodes would take every pod, and whose templates do not say which domain they will be in: that
        it is so, and what to declare."""
        keys = domain_keys(self.subject.gang)
        if not keys or not growths or not all(each.options for each in growths):
            return None
        silent = sorted(
            {
                option.name
                for each in growths
                for option in each.options
                if not option.group.template.labels.get(keys[0]) and option.group.domain_label != keys[0]
            }
        )
        if not silent:
            return None
        short = keys[0].rpartition("/")[2]
        why = f"new nodes of group {listed(silent)} would take the pods, and nobody said which {short} they will be in"
        remedy = f"declare label {keys[0]} in the template of group {silent[0]}, or atomicUnit with domainLabel"
        return why, remedy

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
        row = no_row(subject.key, why.cause, why.text, remedy, scale_up)
        if subject.only_checks and why.cause in CURABLE:
            row = replace(row, verdict=Word.FAILED, reason=Cause.CAPACITY_NOT_FOUND.value)
        members: list[Row] = []
        for place, pod_set in enumerate(subject.gang.pod_sets):
            for key in subject.members.get(pod_set.name, ()):
                if alone[place]:
                    text = f"it would fit by itself, its gang {subject.key.name} does not: {why.text}"
                    members.append(no_row(key, Cause.GANG_PARTIAL, text, remedy, scale_up))
                else:
                    members.append(no_row(key, why.cause, why.text, remedy, scale_up))
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
        keys = domain_keys(gang)
        if keys and self.scope.apart():
            text = self._domains_text(keys[0], members)
            if self.scope.empty():
                return Why(Cause.FRAGMENTATION, text), alone, move_for(self.subject, self.scope, keys[0])
            return Why(Cause.TOPOLOGY_MISMATCH, text), alone, ""
        seated = members.seated(self.scope.planning)
        text = f"{seated} of {counted(self.subject.pods, 'member')} fit"
        if keys:
            text += f"; {self._domains_text(keys[0], members)}"
        if self._enough(members) and self.scope.empty():
            remedy = move_for(self.subject, self.scope, "")
            return Why(Cause.FRAGMENTATION, f"{text}, although enough devices are free in sum"), alone, remedy
        if self.subject.pods == 1 or self.subject.only_checks:
            return Why(Cause.SHORTAGE, f"{text}; {self.found.sentence()}"), alone, ""
        return Why(Cause.GANG_PARTIAL, text), alone, self._free()

    def _free(self) -> str:
        return next((each.text for each in self.found.helps), "")

    def _of_one(self, members: Members, place: int) -> tuple[Why, str]:
        """Not even one pod of a set fits: its reason is the gang's."""
        pod, _ = members.wanted[place]
        surveyor = self.scope.planning.surveyor
        allocated = surveyor.fleet.allocated
        found = misses(pod, members.spots[place], surveyor, allocated, self.scene.cluster)
        why = Explainer(Grounds(pod, members.spots[place], found, surveyor.fleet, allocated, self.scene)).why()
        remedies = Remedies(pod, members.spots[place], why, surveyor.fleet, allocated, self.scene)
        why = remedies.spread()
        return why, replace(remedies, why=why).best()

    def _domains_text(self, key: str, members: Members) -> str:
        """How many each domain takes, the best first, and how many fit without regard to domains."""
        pods = self.subject.pods
        planning = self.scope.planning
        found = [(members.seated(planning, places), value) for value, places in self.scope.known()]
        found.sort(key=lambda each: (-each[0], each[1]))
        short = key.rpartition("/")[2]
        told = ", ".join(
            f"{value} fits {count} of {pods}" for count, value in sorted(found[:_DOMAINS], key=lambda each: each[1])
        )
        most = found[0][0] if found else 0
        text = f"best {short} fits {most} of {pods} ({told})" if told else f"no node has label {key}"
        return f"{text}; {members.seated(planning)} of {pods} fit without regard to {short}"

    def _enough(self, members: Members) -> bool:
        """Whether the free devices would do by number, all nodes together."""
        fleet = self.scope.planning.surveyor.fleet
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
