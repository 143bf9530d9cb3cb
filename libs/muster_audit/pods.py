"""Verdicts on pending pods that stand for themselves, class by class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_audit.causes import FATAL_CAUSES
from muster_audit.demands import faults_of, own_specs, waiting_for
from muster_audit.gangs import consumed_by
from muster_audit.growth import Growth, Option, growth
from muster_audit.misses import Misses, misses
from muster_audit.pod_classes import PodClass, gang_of
from muster_audit.reasons import Explainer, Why, unguarded
from muster_audit.remedies import Remedies
from muster_audit.rows import NodeAnswer, Row
from muster_audit.scene import Scene, State
from muster_audit.seating import Seat, Table, seat, take
from muster_audit.survey import Spot, Surveyor, Wanted, wanted
from muster_audit.unsafe import doubt, hardware_doubt
from muster_audit.waiting import late_nodes
from muster_audit.wording import counted, listed
from muster_audit.words import Cause, ScaleUp, Word
from muster_dra import Fatal, FatalKind
from muster_plan import InvalidGang
from muster_plan.claims import CONSUMER_LIMIT
from muster_types import ObjectKey

_ANSWERS = 6
"""Classes of nodes that a row lists."""
_ENDS = frozenset({FatalKind.GAVE_UP})
"""Fatal outcomes that do not end the whole scheduling attempt."""
_MISSES = 64
"""Nodes that are tried in vain beside what earlier verdicts give away."""
_WAIT = frozenset({Cause.POOL_INCOMPLETE})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rows of one class of pods, in their order, and what groups could do for those that nothing takes."""

    rows: tuple[Row, ...]
    growth: Growth | None = None
    orders: tuple[tuple[str, int], ...] = ()
    """Nodes to add, by group."""


def judge_pods(pods: PodClass, scene: Scene) -> Judgement:
    """A row for each pod of a class of equal pods; they compete with each other, not with other classes."""
    gang = gang_of(str(pods.first), pods.namespace, "audit", {pods.template: 1}, scene.snapshot)
    if isinstance(gang, InvalidGang):
        cause, why, remedy = faults_of(gang, scene.cluster)
        return Judgement(tuple(_no(each, cause, why, remedy) for each in pods.members))
    pod = wanted(gang, scene.snapshot, scene.specs, affinities=scene.affinities, shared_claims=pods.shared)
    return _Judge(pods, pod, scene).judge()


def _no(subject: ObjectKey, cause: Cause, why: str, remedy: str, scale_up: ScaleUp = ScaleUp.NEVER) -> Row:
    return Row(str(subject), Word.INFEASIBLE, cause.value, why=why, remedy=remedy, scale_up=scale_up)


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
                first, rows=(*first.rows, *(_no(each, Cause.API_LIMIT, why, remedy) for each in members[place:]))
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
                return (
                    place,
                    f"claim {existing.full_name} has {len(existing.reserved_for)} consumers, status.reservedFor allows {CONSUMER_LIMIT}",
                )
        return None

    def _within_quota(self, members: Sequence[ObjectKey]) -> Judgement:
        allowed, exceeded = self.scene.quotas.allowed(self.pods.namespace, own_specs(self.pod), len(members))
        judgement = self._placed(members[:allowed]) if allowed else Judgement(())
        if exceeded is None:
            return judgement
        why = exceeded.bound.sentence(self.pods.namespace, exceeded.wanted) + self._although_free()
        remedy = f"raise quota {exceeded.bound.quota} in {self.pods.namespace}, or free {exceeded.wanted} there"
        over = [_no(each, Cause.QUOTA, why, remedy) for each in members[allowed:]]
        return replace(judgement, rows=(*judgement.rows, *over))

    def _ended(self, fatal: Fatal, members: Sequence[ObjectKey]) -> Judgement:
        """The scheduling attempt ends, whatever other nodes offer (dra-semantics §0.1)."""
        cause = FATAL_CAUSES[fatal.kind]
        word = Word.SELECTOR_ERROR if cause is Cause.SELECTOR_ERROR else Word.INFEASIBLE
        why, remedy = fatal.message, self._mend(fatal)
        row = Row("", word, cause.value, why=why, remedy=remedy, scale_up=ScaleUp.NEVER)
        return Judgement(tuple(replace(row, subject=str(each)) for each in members))

    def _mend(self, fatal: Fatal) -> str:
        match fatal.kind:
            case FatalKind.CLASS_MISSING:
                return "create the DeviceClass, or name one that exists"
            case FatalKind.EXPRESSION:
                devices = list(self.scene.published.devices.items())
                expressions = self._expressions()
                tests = [test for each in expressions for test in unguarded(each, devices)]
                return (
                    f"guard it with a presence test: {' && '.join(dict.fromkeys(tests))} && ..."
                    if tests
                    else "mend the expression"
                )
            case FatalKind.TOO_MANY_DEVICES:
                return "ask for at most 32 devices in one claim; spread the rest over further claims"
            case _:
                return ""

    def _expressions(self) -> list[str]:
        found: list[str] = []
        for claim in self.pod.claims:
            for request in claim.spec.requests:
                for option in (request.exactly, *request.first_available):
                    found += [each for each in (option.selectors if option is not None else ()) if each]
        return found

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
        unmet = self._unmet(left, seats, state.counted)
        return Judgement((*rows, *unmet.rows), unmet.growth, unmet.orders)

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
        if not others or sum(len(spot.places) for spot in others) > _ANSWERS:
            return ()
        surveyor = self.scene.held.careful
        found = misses(self.pod, others, surveyor, surveyor.fleet.allocated, self.scene.cluster)
        return self._answers(found)

    def _answers(self, found: Misses) -> tuple[NodeAnswer, ...]:
        nodes = self.scene.now.counted.fleet.nodes
        return tuple(
            NodeAnswer(tuple(nodes[place].name for place in miss.places), miss.cause, miss.text)
            for miss in found.all[:_ANSWERS]
        )

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
                _no(key, Cause.HELD_FOR_GANG_REPAIR, why, f"wait until PodGroup {hold.name} has its members back")
            )
        return rows

    def _unmet(self, left: Sequence[ObjectKey], seats: Sequence[Seat], surveyor: Surveyor) -> Judgement:
        """Pods that nothing which exists takes: why, and whether more nodes would help."""
        allocated = surveyor.fleet.allocated
        if seats:
            allocated = allocated.plus([each for one in seats for each in one.results], "pods like it that come first")
        spots = surveyor.survey(self.pod)
        found = misses(self.pod, spots, surveyor, allocated, self.scene.cluster)
        explainer = Explainer(self.pod, spots, found, surveyor.fleet, allocated, self.scene)
        why = explainer.why()
        more = growth(self.pod, len(left), self.scene.potentials, self.scene.snapshot, self.scene.cluster.learned)
        why = _with_groups(why, more, explainer)
        remedy = Remedies(self.pod, spots, why, surveyor.fleet, allocated, self.scene).best()
        answers = self._answers(found)
        ordered_by = self._ordered_by()
        if ordered_by:
            text = f"{why.text}; its capacity is ordered by {ordered_by}"
            rows = [replace(_no(key, why.cause, text, remedy, ScaleUp.NOT_NEEDED), on=answers) for key in left]
            return Judgement(tuple(rows))
        if why.cause in _WAIT:
            rows = [replace(_no(key, why.cause, why.text, remedy, ScaleUp.NOT_NEEDED), on=answers) for key in left]
            return Judgement(tuple(rows), more)
        rows: list[Row] = []
        waiting = list(left)
        for late in late_nodes(found, more, self.scene):
            for key in waiting[: late.pods]:
                text = f"{listed(late.nodes)} of group {late.group} {'has' if len(late.nodes) == 1 else 'have'} published no device yet"
                help_ = f"wait for the driver on {listed(late.nodes)}; another node would be one too many"
                rows.append(replace(_no(key, Cause.NO_INVENTORY, text, help_, ScaleUp.NOT_NEEDED), on=answers))
            waiting = waiting[late.pods :]
        grown, orders = self._grown(waiting, why, remedy, more)
        rows += [replace(each, on=answers) for each in grown]
        return Judgement(tuple(rows), more, orders)

    def _ordered_by(self) -> str:
        """The request that the pods consume, if it exists: then nodes are its matter."""
        key = ObjectKey("ProvisioningRequest", self.pods.namespace, consumed_by(self.pod.kind.spec.annotations))
        return str(key) if key in self.scene.cluster.frame.objects else ""

    def _grown(
        self, left: Sequence[ObjectKey], why: Why, remedy: str, more: Growth
    ) -> tuple[list[Row], tuple[tuple[str, int], ...]]:
        """The pods over the groups that would take them, cheapest first; what no group has room for is the limit."""
        rows: list[Row] = []
        orders: list[tuple[str, int]] = []
        waiting = list(left)
        for option in more.options:
            share = waiting[: option.pods_within()]
            waiting = waiting[len(share) :]
            if share:
                orders.append((option.name, option.nodes_for(len(share))))
            rows += [self._scale_up(key, option, why, remedy) for key in share]
        if not waiting:
            return rows, tuple(orders)
        if more.options:
            option = more.options[0]
            wanted = option.group.current_size + option.nodes_for(len(left))
            text = (
                f"{why.text}; group {option.name} could serve and is at its maximum "
                f"({option.group.current_size} of {option.group.max_size})"
            )
            help_ = f"raise the maximum of group {option.name} to {wanted}"
            rows += [_no(key, Cause.LIMIT, text, help_, ScaleUp.LIMIT) for key in waiting]
            return rows, tuple(orders)
        rows += [self._nothing_helps(key, why, remedy, more) for key in waiting]
        return rows, tuple(orders)

    def _scale_up(self, key: ObjectKey, option: Option, why: Why, remedy: str) -> Row:
        nodes = option.nodes_for(1)
        repaired = self.scene.cluster.repaired.get(option.name)
        condition = f", once its template is repaired ({repaired.fault})" if repaired is not None else ""
        text = f"{why.text}; {counted(nodes, 'more node')} of group {option.name} would take it{condition}"
        help_ = f"add {counted(nodes, 'node')} of group {option.name}" + condition
        return Row(
            str(key),
            Word.SCALE_UP,
            why.cause.value,
            devices=option.devices,
            group=option.name,
            nodes=nodes,
            why=text,
            remedy=help_ + (f"; or {remedy}" if remedy and why.cause is not Cause.NO_INVENTORY else ""),
            scale_up=ScaleUp.HELPS,
        )

    def _nothing_helps(self, key: ObjectKey, why: Why, remedy: str, more: Growth) -> Row:
        unknown = more.unknown
        if why.cause is Cause.TEMPLATE_MISSING and unknown:
            return Row(
                str(key),
                Word.NO_SCALE_UP,
                Cause.TEMPLATE_MISSING.value,
                why=why.text,
                remedy=f"declare in group {unknown[0].group.name} what its nodes publish (spec.template.resourceSlices)",
                scale_up=ScaleUp.UNKNOWN,
            )
        text = why.text
        if unknown:
            text += f"; whether group {listed([each.group.name for each in unknown])} would help is unknown: no device template"
            return _no(key, why.cause, text, remedy, ScaleUp.UNKNOWN)
        if more.unfit:
            nearest = more.unfit[0]
            text += f"; no group would help ({nearest.group.name}: {nearest.text})"
        return _no(key, why.cause, text, remedy)


def _with_groups(why: Why, more: Growth, explainer: Explainer) -> Why:
    """Where nothing of the kind exists, what groups would bring decides the reason."""
    if why.cause is not Cause.NO_INVENTORY or more.options or (why.miss is not None and why.miss.rank == 0):
        return why
    told = [
        (each.judged.nearness, each.group.name, each)
        for each in more.unfit
        if each.judged is not None and each.cause is not Cause.NO_INVENTORY
    ]
    if told:
        return explainer.of_group(min(told, key=lambda each: each[:2])[2])
    if more.unknown:
        drivers = listed(sorted(explainer.drivers()))
        names = ", ".join(
            f"group {each.group.name} {'is empty and ' if not each.group.current_size else ''}has no device template"
            for each in more.unknown
        )
        of = f" of driver {drivers}" if drivers else ""
        return Why(Cause.TEMPLATE_MISSING, f"no node group declares devices{of}; {names}")
    return why
