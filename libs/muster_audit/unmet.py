"""Pods that nothing which exists takes: why, and whether more nodes would help."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_audit.gangs import consumed_by
from muster_audit.grounds import Grounds, Why
from muster_audit.growth import Growth, Option, growth
from muster_audit.misses import misses
from muster_audit.packing import Share
from muster_audit.pod_classes import PodClass
from muster_audit.reasons import Explainer
from muster_audit.remedies import Remedies
from muster_audit.rows import Row, no_row
from muster_audit.scene import Scene
from muster_audit.seating import Seat
from muster_audit.survey import Surveyor, Wanted
from muster_audit.waiting import late_nodes
from muster_audit.wording import counted, listed
from muster_audit.words import Cause, ScaleUp, Word
from muster_types import NodeGroupName, ObjectKey

_WAIT = frozenset({Cause.POOL_INCOMPLETE})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rows of one class of pods, in their order, and what groups could do for those that nothing takes."""

    rows: tuple[Row, ...]
    growth: Growth | None = None
    shares: tuple[tuple[NodeGroupName, Share], ...] = ()
    """Pods that groups would serve."""


@dataclass(slots=True)
class Unmet:
    """Pods of one class that are left over."""

    pods: PodClass
    pod: Wanted
    scene: Scene

    def judge(self, left: Sequence[ObjectKey], seats: Sequence[Seat], surveyor: Surveyor) -> Judgement:
        """Pods that nothing which exists takes: why, and whether more nodes would help."""
        allocated = surveyor.fleet.allocated
        if seats:
            allocated = allocated.plus([each for one in seats for each in one.results], "pods like it that come first")
        spots = surveyor.survey(self.pod)
        found = misses(self.pod, spots, surveyor, allocated, self.scene.cluster)
        grounds = Grounds(self.pod, spots, found, surveyor.fleet, allocated, self.scene)
        why = Explainer(grounds).why()
        why = Remedies(self.pod, spots, why, surveyor.fleet, allocated, self.scene).spread()
        more = growth(self.pod, len(left), self.scene.potentials, self.scene.snapshot, self.scene.cluster.learned)
        why = _with_groups(why, more, Explainer(grounds))
        remedy = Remedies(self.pod, spots, why, surveyor.fleet, allocated, self.scene).best()
        answers = found.answers(self.scene.now.counted.fleet.nodes)
        ordered_by = self._ordered_by()
        if ordered_by:
            text = f"{why.text}; its capacity is ordered by {ordered_by}"
            rows = [replace(no_row(key, why.cause, text, remedy, ScaleUp.NOT_NEEDED), on=answers) for key in left]
            return Judgement(tuple(rows))
        if why.cause in _WAIT:
            rows = [replace(no_row(key, why.cause, why.text, remedy, ScaleUp.NOT_NEEDED), on=answers) for key in left]
            return Judgement(tuple(rows), more)
        rows: list[Row] = []
        waiting = list(left)
        for late in late_nodes(found, more, self.scene):
            for key in waiting[: late.pods]:
                have = "has" if len(late.nodes) == 1 else "have"
                text = f"{listed(late.nodes)} of group {late.group} {have} published no device yet"
                help_ = f"wait for the driver on {listed(late.nodes)}; another node would be one too many"
                rows.append(replace(no_row(key, Cause.NO_INVENTORY, text, help_, ScaleUp.NOT_NEEDED), on=answers))
            waiting = waiting[late.pods :]
        grown, shares = self._grown(waiting, why, remedy, more)
        rows += [replace(each, on=answers) for each in grown]
        return Judgement(tuple(rows), more, shares)

    def _ordered_by(self) -> str:
        """The request that the pods consume, if it exists: then nodes are its matter."""
        key = ObjectKey("ProvisioningRequest", self.pods.namespace, consumed_by(self.pod.kind.spec.annotations))
        return str(key) if key in self.scene.cluster.frame.objects else ""

    def _grown(
        self, left: Sequence[ObjectKey], why: Why, remedy: str, more: Growth
    ) -> tuple[list[Row], tuple[tuple[NodeGroupName, Share], ...]]:
        """The pods over the groups that would take them, cheapest first; what no group has room for is the limit."""
        rows: list[Row] = []
        shares: list[tuple[NodeGroupName, Share]] = []
        waiting = list(left)
        for option in more.options:
            share = waiting[: option.pods_within()]
            waiting = waiting[len(share) :]
            if share:
                shares.append((option.name, Share(self.pod, len(share), option.nodes_for(len(share)))))
            rows += [self._scale_up(key, option, why, remedy) for key in share]
        if not waiting:
            return rows, tuple(shares)
        if more.options:
            option = more.options[0]
            wanted = option.group.current_size + option.nodes_for(len(left))
            text = (
                f"{why.text}; group {option.name} could serve and is at its maximum "
                f"({option.group.current_size} of {option.group.max_size})"
            )
            help_ = f"raise the maximum of group {option.name} to {wanted}"
            rows += [no_row(key, Cause.LIMIT, text, help_, ScaleUp.LIMIT) for key in waiting]
            return rows, tuple(shares)
        rows += [self._nothing_helps(key, why, remedy, more) for key in waiting]
        return rows, tuple(shares)

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
            name = unknown[0].group.name
            return Row(
                str(key),
                Word.NO_SCALE_UP,
                Cause.TEMPLATE_MISSING.value,
                why=why.text,
                remedy=f"declare in group {name} what its nodes publish (spec.template.resourceSlices)",
                scale_up=ScaleUp.UNKNOWN,
            )
        text = why.text
        if unknown:
            names = listed([each.group.name for each in unknown])
            text += f"; whether group {names} would help is unknown: no device template"
            return no_row(key, why.cause, text, remedy, ScaleUp.UNKNOWN)
        nearest = next((each for each in more.unfit if f"group {each.group.name}: " not in text), None)
        if nearest is not None:
            text += f"; no group would help ({nearest.group.name}: {nearest.text})"
        return no_row(key, why.cause, text, remedy)


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
        drivers = listed(sorted(explainer.grounds.drivers()))
        names = ", ".join(
            f"group {each.group.name} {'is empty and ' if not each.group.current_size else ''}has no device template"
            for each in more.unknown
        )
        of = f" of driver {drivers}" if drivers else ""
        return Why(Cause.TEMPLATE_MISSING, f"no node group declares devices{of}; {names}")
    return why
