"""A pod-by-pod autoscaler: each pod for itself, first fit, on the cheapest group whose example node takes it.

Source: group-capacity §4.2 (templates and labels copied verbatim), §4.4 (no notion of a gang), §4.6 (first fit).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from muster_evaluate.arrivals import NewNodes, node_name, with_new_nodes
from muster_evaluate.starting import book_placements
from muster_evaluate.work import Work
from muster_plan import CHEAPEST, ExistingNode, Gang, Snapshot
from muster_plan.assembly import build_problem, variants_of
from muster_plan.placing import Clash, Load, seat_loads
from muster_plan.sequences import Arrivals
from muster_plan.stocks import Stock
from muster_plan.topology import Topology
from muster_types import NodeGroupName, NodeName


@dataclass(frozen=True, slots=True)
class Bought:
    """For one work: nodes, and how many of its pods the autoscaler believes to have served. `view` is what it sees
    afterwards."""

    orders: tuple[NewNodes, ...]
    served: int
    view: Snapshot

    @property
    def count(self) -> int:
        return sum(each.count for each in self.orders)


@dataclass(slots=True)
class _Machine:
    """A node and the kinds of pods on it, in the order of their arrival."""

    name: NodeName
    stock: Stock
    sequence: tuple[int, ...] = ()


@dataclass(slots=True)
class _Shop:
    arrivals: Arrivals
    machines: list[_Machine]
    groups: list[Stock]
    view: Snapshot
    most_nodes: int | None
    bought: dict[NodeGroupName, int] = field(default_factory=dict[NodeGroupName, int])
    homes: dict[int, _Machine] = field(default_factory=dict[int, _Machine])
    passed: dict[int, int] = field(default_factory=dict[int, int])  # per kind, machines that are full for it

    def serve(self, kind: int, flags: frozenset[int]) -> bool:
        """Whether one more pod of a kind has a place, on a node that is there or a new one."""
        machine = self._home(kind, flags) if flags & self.homes.keys() else self._first(kind) or self._new(kind)
        if machine is None:
            return False
        machine.sequence = (*machine.sequence, kind)
        for flag in flags:
            self.homes.setdefault(flag, machine)
        return True

    def _home(self, kind: int, flags: frozenset[int]) -> _Machine | None:
        """A claim that several pods share has got its devices: only its node will do."""
        homes = {id(self.homes[flag]): self.homes[flag] for flag in flags if flag in self.homes}
        machine = next(iter(homes.values()))
        fits = len(homes) == 1 and self.arrivals.fits(machine.stock, (*machine.sequence, kind))
        return machine if fits else None

    def _first(self, kind: int) -> _Machine | None:
        at = self.passed.get(kind, 0)
        while at < len(self.machines):
            machine = self.machines[at]
            if self.arrivals.fits(machine.stock, (*machine.sequence, kind)):
                self.passed[kind] = at
                return machine
            at += 1
        self.passed[kind] = at
        return None

    def _new(self, kind: int) -> _Machine | None:
        for stock in self.groups:
            group = stock.group
            if group is None or not self.arrivals.fits(stock, (kind,)):
                continue
            number = self.bought.get(group.name, 0)
            total = len(self.view.tables.nodes) + sum(self.bought.values()) + group.step
            if group.room - number < group.step or (self.most_nodes is not None and total > self.most_nodes):
                continue
            self.bought[group.name] = number + group.step
            first = new_before(self.view, group.name) + number
            new = [_Machine(node_name(group.name, first + each), stock) for each in range(group.step)]
            self.machines += new
            return new[0]
        return None


def buy(view: Snapshot, work: Work, most_nodes: int | None) -> Bought:
    """What the autoscaler orders for the pods of one work, after all it ordered before (which is in `view`)."""
    gang = _members(work.gang)
    variant = variants_of(build_problem(view, gang, CHEAPEST))[0]
    shop = _Shop(
        Arrivals(variant.fitter),
        sorted(
            (_Machine(name, stock) for stock in variant.existing for name in stock.names), key=lambda each: each.name
        ),
        sorted(variant.potential, key=_by_price),
        view,
        most_nodes,
    )
    kinds = sorted(variant.problem.kinds, key=lambda kind: (-kind.spec.priority, kind.index))
    served = [0] * len(kinds)
    for kind in kinds:
        for _ in range(kind.count):
            if not shop.serve(kind.index, variant.fitter.flags.of_kind[kind.index]):
                break
            served[kind.index] += 1
    orders = tuple(
        NewNodes(name, new_before(view, name), shop.bought[name]) for name in sorted(shop.bought) if shop.bought[name]
    )
    after = with_new_nodes(view, orders)
    return Bought(orders, sum(served), _seated(after, gang, shop.machines))


def _members(gang: Gang) -> Gang:
    """Its pods as the autoscaler sees them: no minimum, no domain, nobody running elsewhere. Shared claims stay."""
    groups = {name: replace(each, min_count=None, topology_keys=()) for name, each in gang.pod_groups.items()}
    sets = tuple(replace(each, topology=Topology()) for each in gang.pod_sets)
    return replace(gang, pod_sets=sets, pod_groups=groups, running=(), parameters={})


def _by_price(stock: Stock) -> tuple[Fraction, str]:
    group = stock.group
    return (group.price, group.name) if group is not None else (Fraction(0), "")


def new_before(snapshot: Snapshot, group: NodeGroupName) -> int:
    """How many nodes of a group have joined as new ones."""
    prefix = node_name(group, 0)[:-5]
    return sum(1 for key in snapshot.tables.nodes if key.name.startswith(prefix))


def _seated(after: Snapshot, gang: Gang, machines: Sequence[_Machine]) -> Snapshot:
    """The pods where they were put, so that later works find these places taken."""
    bare = replace(after, tables=replace(after.tables, groups={}))
    variant = variants_of(build_problem(bare, gang, CHEAPEST))[0]
    stocks = {name: stock for stock in variant.existing for name in stock.names}
    of_kind = variant.fitter.flags.of_kind
    loads: list[Load] = []
    for machine in machines:
        if machine.sequence:
            counts = tuple(machine.sequence.count(kind.index) for kind in variant.problem.kinds)
            flags = frozenset[int]().union(*(of_kind[kind] for kind in machine.sequence))
            stock = stocks[machine.name]
            loads.append(Load(ExistingNode(machine.name), stock, counts, flags, stock.domains))
    placements = seat_loads(variant, loads)
    if isinstance(placements, Clash):  # devices on the network that no single node could see: nobody holds them
        return after
    return book_placements(after, gang, placements)
