"""Verdicts on pending pods that stand for themselves, class by class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_audit.demands import faults_of, own_specs, waiting_for
from muster_audit.ended import ended
from muster_audit.misses import MOST_ANSWERS, misses
from muster_audit.pod_classes import PodClass, gang_of
from muster_audit.rows import NodeAnswer, Row, no_row
from muster_audit.scene import Scene, State
from muster_audit.seating import Seat, Table, seat, take
from muster_audit.survey import Spot, Wanted, wanted
from muster_audit.unmet import Judgement, Unmet
from muster_audit.unsafe import doubt, hardware_doubt
from muster_audit.wording import counted, listed
from muster_audit.words import Cause, Word
from muster_dra import Fatal, FatalKind
from muster_plan import InvalidGang
from muster_plan.claims import CONSUMER_LIMIT
from muster_types import ObjectKey

_ENDS = frozenset({FatalKind.GAVE_UP})
"""Fatal outcomes that do not end the whole scheduling attempt."""
_MISSES = 64
"""Nodes that are tried in vain beside what earlier verdicts give away."""


def judge_pods(pods: PodClass, scene: Scene) -> Judgement:
    """A row for each pod of a class of equal pods; they compete with each other, not with other classes."""
    gang = gang_of(str(pods.first), pods.namespace, "audit", {pods.template: 1}, scene.snapshot)
    if isinstance(gang, InvalidGang):
        cause, why, remedy = faults_of(gang, scene.cluster)
        return Judgement(tuple(no_row(each, cause, why, remedy) for each in pods.members))
    pod = wanted(gang, scene.snapshot, scene.specs, affinities=scene.affinities, shared_claims=pods.shared)
    return _Judge(pods, pod, scene).judge()


@dataclass(slots=True)
class _Judge:
    pods: PodClass
    pod: Wanted
    scene: Scene

    def judge(self) -> Judgement:
        members = self.pods.members
        plans = self.scene.snapshot.catalog.plans(self.pod.claims) if self.pod.claims else None
        if isinstance(plans, Fatal):
            return self._ended(plans, members)
        crowded = self._crowded_out()
        if crowded is not None:
            place, why = crowded
            first = self._within_quota(members[:place]) if place else Judgement(())
            remedy = "let the pods share it as a claim of their PodGroup: the group counts as one consumer"
            return replace(
                first, rows=(*first.rows, *(no_row(each, Cause.API_LIMIT, why, remedy) for each in members[place:]))
            )
        return self._within_quota(members)

    def _crowded_out(self) -> tuple[int, str] | None:
        """How many of the pods a claim that they name can still list as consumers, if not all."""
        for entry in self.pod.kind.pod_set.shared_claims:
            existing = entry.claim.existing
            if existing is None or not entry.direct or existing.name not in self.pods.shared:
                continue
            listed_ = {each.name for each in existing.reserved_for if each.resource == "pods"}
            new = [key for key in self.pods.members if key.name not in listed_]
            room = CONSUMER_LIMIT - len(existing.reserved_for)
            if len(new) > room:
                place = self.pods.members.index(new[max(room, 0)])
                listed_now = f"claim {existing.full_name} has {len(existing.reserved_for)} consumers"
                return place, f"{listed_now}, status.reservedFor allows {CONSUMER_LIMIT}"
        return None

    def _within_quota(self, members: Sequence[ObjectKey]) -> Judgement:
        allowed, exceeded = self.scene.quotas.allowed(self.pods.namespace, own_specs(self.pod), len(members))
        judgement = self._placed(members[:allowed]) if allowed else Judgement(())
        if exceeded is None:
            return judgement
        why = exceeded.bound.sentence(self.pods.namespace, exceeded.wanted) + self._although_free()
        remedy = f"raise quota {exceeded.bound.quota} in {self.pods.namespace}, or free {exceeded.wanted} there"
        over = [no_row(each, Cause.QUOTA, why, remedy) for each in members[allowed:]]
        return replace(judgement, rows=(*judgement.rows, *over))

    def _ended(self, fatal: Fatal, members: Sequence[ObjectKey]) -> Judgement:
        row = ended(fatal, "", [claim.spec for claim in self.pod.claims], self.scene)
        return Judgement(tuple(replace(row, subject=str(each)) for each in members))

    def _although_free(self) -> str:
        fleet = self.scene.now.counted.fleet
        if not self.pod.claims:
            return ""
        free = [
            (min(each, default=0), node.name)
            for each, node in zip(fleet.free(self.pod.claims), fleet.nodes, strict=True)
        ]
        most, where = max(free, default=(0, ""))
        total = sum(count for count, _ in free)
        return f"; {counted(total, 'device')} of the kind free, {most} of them on {where}" if total else ""

    def _placed(self, members: Sequence[ObjectKey]) -> Judgement:
        state = self.scene.held
        spots = state.careful.survey(self.pod)
        for spot in spots:
            if spot.open and isinstance(spot.outcome, Fatal) and spot.outcome.kind not in _ENDS:
                return self._ended(spot.outcome, members)
        seats, rows, table = self._seated(members, spots, state)
        scene = self.scene
        left = members[len(seats) :]
        if left and (state.careful is not state.counted or (seats and scene.physical.related)):
            more = self._unsafe(left, table, seats, state)
            rows, left = rows + more, left[len(more) :]
        if left and state is not scene.now:
            more = self._held_back(left, seats)
            rows, left = rows + more, left[len(more) :]
        if not left:
            return Judgement(tuple(rows))
        unmet = Unmet(self.pods, self.pod, self.scene).judge(left, seats, state.counted)
        return Judgement((*rows, *unmet.rows), unmet.growth, unmet.shares)

    def _seated(
        self, members: Sequence[ObjectKey], spots: Sequence[Spot], state: State
    ) -> tuple[list[Seat], list[Row], Table]:
        """Seats beside what earlier verdicts give away where that is possible, else on the state as given.

        The table returned is the state as given with all seats taken.
        """
        scene, surveyor = self.scene, state.careful
        soft = scene.promises.table()
        beside = seat(len(members), self.pod, spots, surveyor, scene.physical, soft, scene.domains, _MISSES)
        scene.promises.keep(soft, [(str(key), each.results) for key, each in zip(members, beside, strict=False)])
        table = Table(surveyor.fleet.allocated, shared=dict(soft.shared))
        for each in beside:
            take(each, self.pod, scene.physical, table)
        rest = seat(len(members) - len(beside), self.pod, spots, surveyor, scene.physical, table, scene.domains)
        refusing = self._refusing(spots) if beside or rest else ()
        seats = [*beside, *rest]
        rows = [self._feasible(key, each, refusing) for key, each in zip(members, seats, strict=False)]
        for place in range(len(beside), len(seats)):
            rivals = scene.promises.rivals(seats[place].results)
            if rivals and rows[place].verdict is Word.FEASIBLE:
                text = f"{rows[place].why}; not beside {listed(rivals)}, which fits by itself too"
                rows[place] = replace(rows[place], why=text)
        return seats, rows, table

    def _feasible(self, key: ObjectKey, seat_: Seat, refusing: tuple[NodeAnswer, ...]) -> Row:
        others = f" ({seat_.choices} nodes would do)" if seat_.choices > 1 else ""
        row = Row(
            str(key),
            Word.FEASIBLE,
            node=seat_.node,
            devices=seat_.devices,
            why=f"it fits now{others}; {waiting_for(self.scene.cluster, key)}",
            on=refusing,
        )
        found = doubt(self.pod, seat_, self.scene)
        return row if found is None else replace(row, verdict=Word.UNSAFE, why=found.why, remedy=found.remedy)

    def _refusing(self, spots: Sequence[Spot]) -> tuple[NodeAnswer, ...]:
        """What nodes say that do not take the pod, where only few do so."""
        others = [spot for spot in spots if not spot.fits]
        if not others or sum(len(spot.places) for spot in others) > MOST_ANSWERS:
            return ()
        surveyor = self.scene.held.careful
        found = misses(self.pod, others, surveyor, surveyor.fleet.allocated, self.scene.cluster)
        return found.answers(self.scene.now.counted.fleet.nodes)

    def _unsafe(self, left: Sequence[ObjectKey], table: Table, seats: Sequence[Seat], state: State) -> list[Row]:
        """Pods that fit if the API's own counting is believed, and not if the hardware is looked at."""
        surveyor = state.counted
        taken = surveyor.fleet.allocated.plus([each for one in seats for each in one.results], "pending")
        counting = Table(taken, dict(table.extra), dict(table.shared))
        spots = surveyor.survey(self.pod)
        found = seat(len(left), self.pod, spots, surveyor, None, counting, self.scene.domains)
        rows: list[Row] = []
        for key, each in zip(left, found, strict=False):
            said = hardware_doubt(each.results, table.allocated, self.scene)
            rows.append(
                Row(str(key), Word.UNSAFE, node=each.node, devices=each.devices, why=said.why, remedy=said.remedy)
            )
        return rows

    def _held_back(self, left: Sequence[ObjectKey], seats: Sequence[Seat]) -> list[Row]:
        """Pods that would fit if running gangs did not need the room for members that they lack."""
        surveyor = self.scene.now.careful
        taken = surveyor.fleet.allocated.plus([each for one in seats for each in one.results], "pending")
        spots = surveyor.survey(self.pod)
        found = seat(len(left), self.pod, spots, surveyor, self.scene.physical, Table(taken), self.scene.domains)
        rows: list[Row] = []
        for key, each in zip(left, found, strict=False):
            gangs = [
                hold
                for hold in self.scene.holds
                if each.node in hold.nodes and hold.priority >= self.pod.kind.spec.priority
            ]
            if not gangs:
                break
            hold = gangs[0]
            why = f"{each.node} is kept for PodGroup {hold.name} ({hold.running} of {hold.wanted} running)"
            rows.append(
                no_row(key, Cause.HELD_FOR_GANG_REPAIR, why, f"wait until PodGroup {hold.name} has its members back")
            )
        return rows
