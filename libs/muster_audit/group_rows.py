"""What is said about each node group: what it would be asked for, why it would not help, what it could give back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster_audit.group_reasons import group_reason
from muster_audit.growth import Growth, Unfit
from muster_audit.idle import Use
from muster_audit.packing import Share, nodes_together
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.wording import counted, listed
from muster_audit.words import Cause, ScaleUp, Word
from muster_plan import NodeGroup
from muster_types import NodeGroupName


@dataclass(frozen=True, slots=True)
class Asked:
    """What groups could do for one subject, and what came of it. `row` is the subject's that says most."""

    growth: Growth
    row: Row

    @property
    def served(self) -> bool:
        return self.row.verdict is Word.SCALE_UP


@dataclass(slots=True)
class Demand:
    """What pending subjects ask of groups. `orders` are nodes for gangs, `shares` pods that need not be together."""

    orders: dict[str, int] = field(default_factory=dict[str, int])
    shares: dict[str, list[Share]] = field(default_factory=dict[str, list[Share]])
    asked: list[Asked] = field(default_factory=list[Asked])

    def ask(self, growths: Sequence[Growth], rows: Sequence[Row]) -> None:
        """Subjects of one class that some group was tried for."""
        if rows:
            telling = next((row for row in rows if row.verdict is Word.SCALE_UP), rows[-1])
            self.asked += [Asked(each, telling) for each in growths]

    def order(self, group: str, nodes: int) -> None:
        self.orders[group] = self.orders.get(group, 0) + nodes

    def share(self, group: str, share: Share) -> None:
        self.shares.setdefault(group, []).append(share)

    def nodes_of(self, group: NodeGroupName, scene: Scene) -> int:
        """Nodes to add, for all together."""
        ordered, shares = self.orders.get(group, 0), self.shares.get(group, [])
        if not shares:
            return ordered
        potential = scene.potentials.by_group[group]
        room = max(potential.group.room - scene.snapshot.pending_nodes(group) - ordered, 0)
        return ordered + min(nodes_together(shares, potential, scene.potentials), room)


def group_rows(demand: Demand, uses: Mapping[str, Use], scene: Scene) -> list[Row]:
    """A row for every group that can be read, and for those whose template is invalid, by name."""
    groups = {each.name: each for each in scene.snapshot.tables.groups.values()}
    refused = {
        each.key.name: f"{each.field}: {each.reason}"
        for each in reversed(scene.cluster.refusals())
        if each.key.kind == "NodeGroup"
    }
    rows: list[Row] = []
    for name in map(NodeGroupName, sorted({*groups, *refused, *scene.cluster.repaired})):
        repaired = scene.cluster.repaired.get(name)
        ordered = demand.nodes_of(name, scene)
        if repaired is not None or name in refused:
            fault = repaired.fault if repaired is not None else refused[name]
            asked = f"; {counted(ordered, 'node')} of it would be asked for" if ordered else ""
            rows.append(
                Row(
                    f"NodeGroup/{name}",
                    Word.TEMPLATE_INVALID,
                    Cause.INVALID_OBJECT.value,
                    group=name,
                    nodes=ordered,
                    why=fault + asked,
                    remedy=f"mend the template: {fault}",
                )
            )
        else:
            rows.append(_row(groups[name], ordered, demand, uses, scene))
    return rows


def _row(group: NodeGroup, ordered: int, demand: Demand, uses: Mapping[str, Use], scene: Scene) -> Row:
    subject = f"NodeGroup/{group.name}"
    size = f"{group.current_size} of at most {counted(group.max_size, 'node')}"
    if ordered:
        why = f"{counted(ordered, 'more node')} would serve what is pending ({size} now)"
        return Row(
            subject,
            Word.SCALE_UP,
            group=group.name,
            nodes=ordered,
            why=why,
            remedy=f"add {counted(ordered, 'node')}",
            scale_up=ScaleUp.HELPS,
        )
    if not demand.asked:
        return _unneeded(group, subject, size, uses, scene)
    able = [
        each
        for each in demand.asked
        if any(option.name == group.name and option.room >= group.step for option in each.growth.options)
    ]
    if able:
        return _unchosen(group, subject, size, min(able, key=lambda each: not each.served))
    word = Word.NO_OPTION if any(each.served for each in demand.asked) else Word.NO_SCALE_UP
    cause, why = _reason(group, demand, scene)
    scale_up = ScaleUp.UNKNOWN if cause is Cause.TEMPLATE_MISSING else ScaleUp.NEVER
    return Row(subject, word, cause.value, group=group.name, why=why, scale_up=scale_up)


def _unchosen(group: NodeGroup, subject: str, size: str, asked: Asked) -> Row:
    """One of its nodes would take a pod, and none is asked for."""
    row = asked.row
    if asked.served:
        return Row(subject, Word.OPTION, group=group.name, why=f"it could serve, another choice costs less ({size})")
    if row.scale_up is ScaleUp.NOT_NEEDED:
        why = f"it could serve ({size}); {row.subject} waits for what is on its way: {row.why}"
        return Row(subject, Word.OPTION, group=group.name, why=why)
    why = f"a node of it takes a pod of {row.subject}, which does not fit as a whole ({size}): {row.why}"
    return Row(subject, Word.NO_SCALE_UP, row.reason, group=group.name, why=why, scale_up=row.scale_up)


def _reason(group: NodeGroup, demand: Demand, scene: Scene) -> tuple[Cause, str]:
    """Why it does not help, from the pending subject that comes nearest to it."""
    for each in demand.asked:
        if any(option.name == group.name for option in each.growth.options):
            if group.unit > group.max_size:
                return Cause.LIMIT, f"maxSize {group.max_size} is smaller than atomicUnit {group.unit}"
            return Cause.LIMIT, f"it is at its maximum: {group.current_size} of {group.max_size} nodes"
    found = [unfit for each in demand.asked for unfit in each.growth.unfit if unfit.group.name == group.name]
    if not found:
        return Cause.SHORTAGE, "nothing that is pending was tried on it"
    nearest = min(found, key=_nearness)
    cause, text, selector = group_reason(nearest, scene)
    return cause, f"template devices do not match either: {text}" if selector is not None else text


def _nearness(unfit: Unfit) -> tuple[float, float]:
    return (unfit.judged.nearness.rank, unfit.judged.nearness.missing) if unfit.judged is not None else (9.0, 1.0)


def _unneeded(group: NodeGroup, subject: str, size: str, uses: Mapping[str, Use], scene: Scene) -> Row:
    """Nothing asks for the group: idle nodes above its minimum could go."""
    nodes = [
        node
        for key in sorted(scene.snapshot.tables.nodes)
        if group.has((node := scene.snapshot.tables.nodes[key]).labels)
    ]
    idle: Sequence[str] = [node.name for node in nodes if node.name in uses and uses[node.name].idle]
    spare = max(group.current_size - group.min_size, 0)
    if idle and spare:
        going = idle[:spare]
        return Row(
            subject,
            Word.REMOVAL_CANDIDATE,
            node=", ".join(going),
            group=group.name,
            why=f"{listed(going)} idle, {size}, minimum {group.min_size}",
            remedy=f"take {counted(len(going), 'node')} away",
        )
    return Row(subject, Word.USAGE, group=group.name, why=f"{size}; nothing pending asks for it")
