"""Verdicts on gangs: PodGroups and ProvisioningRequests, with a row for each of their pending pods."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from muster_audit.demands import faults_of, waiting_for
from muster_audit.gang_planning import Members, Planning, booking_of, devices_of, nodes_of
from muster_audit.gang_scope import Scope
from muster_audit.gang_unmet import GangJudgement, Unmet
from muster_audit.gangs import Subject, Unreadable
from muster_audit.grounds import Why
from muster_audit.quotas import Exceeded
from muster_audit.rows import Row, no_row
from muster_audit.scene import Hold, Scene
from muster_audit.wording import counted
from muster_audit.words import Cause, Word
from muster_plan import Booking, ExistingNode, Plan
from muster_plan.claims import CONSUMER_LIMIT
from muster_plan.gang import OwnClaim


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
            why = exceeded.bound.sentence(subject.key.namespace, exceeded.wanted)
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
        scope = Scope.of(subject, planning, Members.of(subject, planning))
        found = scope.now()
        if isinstance(found, Plan):
            return self._feasible(subject, found)
        return Unmet(subject, scope, self.scene, found).judge()

    def _planning(self, taken: Sequence[Booking]) -> Planning:
        if taken:
            return Planning.of(self.scene, self.scene.held.careful, taken)
        key = id(self.scene)
        if key not in self._plannings:
            self._plannings[key] = Planning.of(self.scene, self.scene.held.careful)
        return self._plannings[key]

    def _unreadable(self, subject: Unreadable) -> GangJudgement:
        cause, why, remedy = faults_of(subject.fault, self.scene.cluster)
        rows = [no_row(key, cause, why, remedy) for key in (subject.key, *subject.members)]
        return GangJudgement(rows[0], tuple(rows[1:]))

    def _over_quota(self, subject: Subject) -> Exceeded | None:
        specs = [
            (entry.spec, pod_set.count)
            for pod_set in subject.gang.pod_sets
            for entry in pod_set.claims
            if isinstance(entry, OwnClaim)
        ]
        return self.scene.quotas.together(subject.key.namespace, specs)

    def _no(self, subject: Subject, why: Why, remedy: str) -> GangJudgement:
        row = no_row(subject.key, why.cause, why.text, remedy)
        members = [key for keys in subject.members.values() for key in keys]
        return GangJudgement(row, tuple(no_row(key, why.cause, why.text, remedy) for key in members))

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
