"""One problem put to the fast allocator and to both references, and whether the answers are one.

The shared reference (muster_dra.reference) takes pools, preparation and state from the engine and follows every release
and gate; the independent one (support.dra_reference) takes nothing but single CEL evaluations, for the default profile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Defaults,
    Fatal,
    FatalKind,
    Features,
    NodeError,
    NoFit,
    Outcome,
    UnreadableSelector,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
)
from muster_dra.allocations import allocation
from muster_dra.found import Solution
from muster_dra.guided import guided_search
from muster_dra.plan import PlanTable
from muster_dra.prepare import MAX_RESULTS
from muster_dra.reference import reference_allocate
from muster_dra.situation import situation
from muster_dra.taint_rules import with_taint_rules
from muster_dra.views import NodeView, occupancy
from support.dra_reference import Answer, answer
from support.dra_reference.quantities import nano

REFERENCE_STEPS = 10_000
"""Where 1.36 is followed into its defects, the engine walks the reference search itself, under this limit."""
INDEPENDENT_STEPS = 2_000
"""The independent reference adds everything up again at each step."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two answers in words, for one node."""

    node: str
    against: str
    fast: str
    slow: str
    agree: bool


class Question:
    """A row as the engine reads it, under some gates."""

    def __init__(self, row: Row, gates: Features) -> None:
        defaults = Defaults.API_SERVER if row.get("filled", True) else Defaults.AS_WRITTEN
        self.gates = gates
        self.slices = [parse_slice(item) for item in row["slices"]]
        self.classes = [parse_class(item) for item in row["classes"]]
        self.rules = [parse_taint_rule(item) for item in row.get("taintRules", [])]
        self.claims = tuple(parse_claim(item, defaults) for item in row["claims"])
        self.allocated = AllocatedState.from_claims(parse_claim(item) for item in row["allocated"])
        self.nodes = [parse_node(item) for item in row["nodes"]]
        self.catalog = Catalog.build(self.slices, self.classes, taint_rules=self.rules, features=gates)

    def fast(self) -> list[Outcome]:
        return [allocate(node, self.claims, self.catalog, self.allocated) for node in self.nodes]

    def guided(self) -> list[Outcome | None]:
        """For each node the answer of the search that asks ahead, where it may be used; None elsewhere."""
        plans = self.catalog.plans(self.claims)
        found: list[Outcome | None] = []
        for node in self.nodes:
            view = self.catalog.view(node)
            if isinstance(plans, Fatal) or isinstance(view, UnreadableSelector):
                found.append(None)
            else:
                found.append(_guided(plans, view, self.allocated, self.gates))
        return found

    def shared_reference(self) -> list[Outcome]:
        slices = [with_taint_rules(each, self.rules, self.gates) for each in self.slices]
        classes = {each.name: each for each in self.classes}
        return [
            reference_allocate(
                node, self.claims, slices, classes, self.allocated, self.gates, step_limit=REFERENCE_STEPS
            )[0]
            for node in self.nodes
        ]


def _guided(plans: PlanTable, view: NodeView, allocated: AllocatedState, gates: Features) -> Outcome | None:
    compiled, plan = plans.compiled, plans.plan(view.shape)
    defective = gates.counters_by_pool_name or compiled.needs_reference or view.unusable is not None
    if defective or not plan.order_free or max(plan.least, default=0) > MAX_RESULTS:
        return None
    start = situation(plan, compiled, view.shape, occupancy(view, allocated, gates))
    found, _ = guided_search(start, 10 * REFERENCE_STEPS, 0)
    if isinstance(found, Solution):
        return allocation(found, compiled, view)
    if found is not None:
        return Fatal(found.kind, "")
    return NodeError(()) if view.invalid else NoFit(())


def compared(row: Row, gates: Features) -> Iterator[Compared]:
    """Every comparison for every node: the release and gates given, then the default profile."""
    question = Question(row, gates)
    fast = question.fast()
    for node, one, slow, ahead in zip(
        question.nodes, fast, question.shared_reference(), question.guided(), strict=True
    ):
        yield Compared(node.name, "shared", word(one), word(slow), agree(one, slow))
        if ahead is not None:
            yield Compared(node.name, "shared, asking ahead", word(ahead), word(slow), agree(ahead, slow))
    default = replace(Features.v1_37(), list_type_attributes=gates.list_type_attributes)
    if gates != default:
        fast = Question(row, default).fast()
    for node, one in zip(row["nodes"], fast, strict=True):
        slow = answer(
            row,
            node,
            filled=row.get("filled", True),
            lists=default.list_type_attributes,
            step_limit=INDEPENDENT_STEPS,
        )
        yield Compared(node["metadata"]["name"], "independent", word(one), _word(slow), same(one, slow))


def word(outcome: Outcome) -> str:
    match outcome:
        case Allocation():
            return "ok"
        case Fatal(kind, _):
            return "gave up" if kind is FatalKind.GAVE_UP else f"fatal: {kind.value}"
        case NodeError():
            return "node error"
        case NoFit():
            return "none"


_WORDS = {"ok": "ok", "none": "none", "nodeError": "node error", "error": "fatal", "unknown": "gave up"}


def _word(slow: Answer) -> str:
    return _WORDS[slow.status]


def agree(fast: Outcome, slow: Outcome) -> bool:
    """Same outcome, and for a yes the same allocation down to amounts. Where the reference gave up, anything goes."""
    if "gave up" in (word(slow), word(fast)):
        return word(slow) == "gave up"
    if isinstance(fast, Allocation) and isinstance(slow, Allocation):
        return fast == slow
    return word(fast).partition(":")[0] == word(slow).partition(":")[0]


def same(fast: Outcome, slow: Answer) -> bool:
    """As `agree`, on what would be written to the claims: results, amounts, node selector, configuration."""
    if slow.status == "unknown":
        return True
    if word(fast).partition(":")[0] != _word(slow):
        return False
    return not isinstance(fast, Allocation) or written(fast) == list(slow.claims)


def written(fast: Allocation) -> list[dict[str, Any]]:
    """The engine's allocations in the form of the independent reference, from its own JSON."""
    found: list[dict[str, Any]] = []
    for claim in fast.claims:
        json: Any = claim.to_json(["" for result in claim.results if result.share])
        results: list[dict[str, Any]] = json["devices"]["results"]
        for result in results:
            if result.pop("shareID", None) is not None:
                result["shared"] = True
            if "consumedCapacity" in result:
                result["consumedCapacity"] = {name: nano(text) for name, text in result["consumedCapacity"].items()}
        config = json["devices"].get("config", [])
        found.append({"results": results, "nodeSelector": json.get("nodeSelector"), "config": config})
    return found
