"""What is said about each node group: what it would be asked for, why it would not help, which nodes it could give back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster_audit.groups import belongs
from muster_audit.growth import Growth, Unfit
from muster_audit.idle import Use
from muster_audit.reasons import group_reason
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.wording import counted, listed
from muster_audit.words import Cause, ScaleUp, Word
from muster_plan import NodeGroup


@dataclass(slots=True)
class Demand:
    """What pending subjects ask of groups. `orders`: nodes by group; `growths` with whether any group served."""

    orders: dict[str, int] = field(default_factory=dict[str, int])
    growths: list[tuple[Growth, bool]] = field(default_factory=list[tuple[Growth, bool]])

    def add(self, growth: Growth | None, *, served: bool) -> None:
        if growth is not None:
            self.growths.append((growth, served))

    def order(self, group: str, nodes: int) -> None:
        self.orders[group] = self.orders.get(group, 0) + nodes


def group_rows(demand: Demand, uses: Mapping[str, Use], scene: Scene) -> list[Row]:
    """A row for every group that can be read, and for those whose template is invalid, by name."""
    groups = {each.name: each for each in scene.snapshot.tables.groups.values()}
    refused = {
        each.key.name: f"{each.field}: {each.reason}"
        for each in reversed(scene.cluster.refusals())
        if each.key.kind == "NodeGroup"
    }
    rows: list[Row] = []
    for name in sorted({*groups, *refused, *scene.cluster.repaired}):
        repaired = scene.cluster.repaired.get(name)
        ordered = demand.orders.get(name, 0)
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
    if not demand.growths:
        return _unneeded(group, subject, size, uses, scene)
    served = any(served for _, served in demand.growths)
    for growth, _ in demand.growths:
        if any(each.name == group.name and each.room >= group.step for each in growth.options):
            return Row(
                subject, Word.OPTION, group=group.name, why=f"it could serve, another choice costs less ({size})"
            )
    word = Word.NO_OPTION if served else Word.NO_SCALE_UP
    cause, why = _reason(group, demand, scene)
    scale_up = ScaleUp.UNKNOWN if cause is Cause.TEMPLATE_MISSING else ScaleUp.NEVER
    return Row(subject, word, cause.value, group=group.name, why=why, scale_up=scale_up)


def _reason(group: NodeGroup, demand: Demand, scene: Scene) -> tuple[Cause, str]:
    """Why it does not help, from the pending subject that comes nearest to it."""
    for growth, _ in demand.growths:
        if any(each.name == group.name for each in growth.options):
            if group.unit > group.max_size:
                return Cause.LIMIT, f"maxSize {group.max_size} is smaller than atomicUnit {group.unit}"
            return Cause.LIMIT, f"it is at its maximum: {group.current_size} of {group.max_size} nodes"
    found = [each for growth, _ in demand.growths for each in growth.unfit if each.group.name == group.name]
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
        node for key in sorted(scene.snapshot.tables.nodes) if belongs(node := scene.snapshot.tables.nodes[key], group)
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
