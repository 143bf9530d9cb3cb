"""Is this cluster's autoscaling fit for DRA gangs: its parts, what they can do, and what they would do now."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from muster_evaluate.capabilities import Capability
from muster_evaluate.comparison import Comparison, Progress, Terms, compare
from muster_evaluate.components import Component, ConfigFile, Part, find_components
from muster_evaluate.conditions import Level
from muster_evaluate.examples import autoscaler_view
from muster_evaluate.fields import Json, text
from muster_evaluate.gates import GateRow, gate_rows
from muster_evaluate.judging import CapabilityRow, judge
from muster_evaluate.needing import needed_by
from muster_evaluate.served import ServedVersion, served_versions
from muster_evaluate.work import Pending, pending_work
from muster_plan import Snapshot

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_HOURS: Mapping[str, Fraction] = {
    "h": Fraction(1),
    "m": Fraction(1, 60),
    "s": Fraction(1, 3600),
    "ms": Fraction(1, 3_600_000),
}
IDLE_MINUTES = 10
"""`--scale-down-unneeded-time` where nobody says another (group-capacity §4.6)."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`missing` are capabilities that the pending work needs and no component has. Partial ones are left to the
    comparison, which shows what they are worth here."""

    components: tuple[Component, ...]
    served: tuple[ServedVersion, ...]
    gates: tuple[GateRow, ...]
    capabilities: tuple[CapabilityRow, ...]
    needed: Mapping[Capability, tuple[str, ...]]
    pending: Pending
    comparison: Comparison
    assumptions: tuple[str, ...]

    @property
    def missing(self) -> tuple[CapabilityRow, ...]:
        return tuple(row for row in self.capabilities if row.capability in self.needed and row.level <= Level.UNKNOWN)

    @property
    def fit(self) -> bool:
        return not self.missing and self.comparison.as_good


def evaluate(
    objects: Sequence[Json],
    snapshot: Snapshot,
    files: Sequence[ConfigFile],
    *,
    idle_minutes: Fraction | None,
    progress: Progress,
) -> Evaluation:
    """`objects` is all of the input, `snapshot` what the planner reads of it, `files` the configuration files within
    ConfigMaps. `idle_minutes`: how long an unneeded node lives; None: as the autoscaler's flags say."""
    components = find_components(objects, files)
    pending = pending_work(objects, snapshot)
    idle, idle_from = _idle(components, idle_minutes)
    most, most_from = _most_nodes(components)
    comparison = compare(snapshot, autoscaler_view(snapshot, objects), pending.works, Terms(idle, most), progress)
    shows = any(text(each.get("kind")) == "Deployment" for each in objects)
    return Evaluation(
        components,
        served_versions(objects),
        gate_rows(components),
        judge(components, files, shows_workloads=shows),
        needed_by(comparison, snapshot),
        pending,
        comparison,
        _assumptions(idle, idle_from, most, most_from, pending),
    )


def hours_of(written: str) -> Fraction | None:
    """A duration as Go writes it (`10m`, `1h30m0s`), in hours."""
    found = _DURATION.findall(written)
    if not found or "".join(amount + unit for amount, unit in found) != written:
        return None
    return sum((Fraction(amount) * _HOURS[unit] for amount, unit in found), Fraction(0))


def _flag(components: Sequence[Component], name: str) -> tuple[str, str]:
    for each in components:
        if each.part is Part.AUTOSCALER and name in each.flags:
            return each.flags[name].value, str(each.flags[name].where)
    return "", ""


def _idle(components: Sequence[Component], given: Fraction | None) -> tuple[Fraction, str]:
    if given is not None:
        return given / 60, "as asked"
    written, where = _flag(components, "scale-down-unneeded-time")
    hours = hours_of(written)
    return (Fraction(IDLE_MINUTES, 60), "the default") if hours is None else (hours, where)


def _most_nodes(components: Sequence[Component]) -> tuple[int | None, str]:
    written, where = _flag(components, "max-nodes-total")
    return (int(written), where) if written.isdecimal() and int(written) > 0 else (None, "")


def _assumptions(idle: Fraction, idle_from: str, most: int | None, most_from: str, pending: Pending) -> tuple[str, ...]:
    limit = f"at most {most} nodes in all ({most_from})" if most is not None else "no limit but the groups' maximum"
    found = [
        "pods are taken one by one, by priority, gangs first, then by name; first fit over nodes by name",
        "a pod that fits nowhere buys from the cheapest group (price per node, then name) whose example node takes it",
        "a group's example is its first ready node, else its template (more than an autoscaler may know of it)",
        "values and labels of the example are taken for all new nodes of its group",
        "no pod knows of the other members of its gang, their domain or a claim that they share before it has devices",
        f"a group grows by its atomic unit; {limit}",
        "every order is filled at once: no stockout, no delay, the devices that the template promises",
        "a gang starts only whole, placed as well as anybody could; nodes of no use to it may serve later work",
        f"a node that serves nobody is removed after {float(idle * 60):g} min ({idle_from}); then the round repeats",
        "requests of every class and PodGroups are served; members that do not exist yet are like the last one",
        "Muster orders only for a gang that has a whole plan, in the same order of work",
    ]
    if pending.gated:
        found.append(f"{pending.gated} pods with scheduling gates are left out on both sides")
    return tuple(found)
