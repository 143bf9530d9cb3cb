"""An integer programme as a value, and its solution by HiGHS (docs/decisions/0003-planner-solver.md).

Rows and columns are added in a fixed order, the solver runs on one thread from a fixed seed and is bounded by nodes of
its tree instead of time: the same programme has the same answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import highspy

Column = int
Terms = Sequence[tuple[Column, float]]


class Outcome(Enum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    BOUNDED = "stopped with a solution and a bound"
    GAVE_UP = "stopped without a solution"


@dataclass(frozen=True, slots=True)
class Solution:
    """`values` per column, rounded where the column is whole; `objective` and its proven lower `bound`."""

    outcome: Outcome
    values: tuple[float, ...] = ()
    objective: float = 0.0
    bound: float = 0.0

    @property
    def feasible(self) -> bool:
        return self.outcome in (Outcome.OPTIMAL, Outcome.BOUNDED)

    def whole(self, column: Column) -> int:
        return round(self.values[column])


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The solution without whole numbers, the reduced cost of each column and the dual (`prices`) of each row."""

    objective: float
    values: tuple[float, ...]
    reduced: tuple[float, ...]
    prices: tuple[float, ...]


@dataclass(slots=True)
class Programme:
    """Columns are whole numbers within bounds, rows are ranges over sums."""

    lower: list[float] = field(default_factory=list[float])
    upper: list[float] = field(default_factory=list[float])
    rows: list[tuple[tuple[tuple[Column, float], ...], float, float]] = field(
        default_factory=list[tuple[tuple[tuple[Column, float], ...], float, float]]
    )

    def column(self, lower: float, upper: float) -> Column:
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def row(self, terms: Terms, lower: float = -inf, upper: float = inf) -> int:
        merged: dict[Column, float] = {}
        for column, factor in terms:
            merged[column] = merged.get(column, 0.0) + factor
        self.rows.append((tuple(sorted(merged.items())), lower, upper))
        return len(self.rows) - 1

    def minimum(self, objective: Mapping[Column, float], *, tree_nodes: int, gap: float = 0.0) -> Solution:
        """The least value of the objective. `gap` is the relative distance to the bound at which the search may end."""
        return _solve(self, objective, tree_nodes, gap)

    def relaxed(self, objective: Mapping[Column, float]) -> Relaxed | None:
        """The least value of the objective if columns need not be whole; None if even that has no solution."""
        import highspy

        solver = _loaded(self, objective, whole=False)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = solver.getSolution()
        return Relaxed(
            solver.getInfo().objective_function_value,
            tuple(found.col_value),
            tuple(found.col_dual),
            tuple(found.row_dual),
        )


def _solve(programme: Programme, objective: Mapping[Column, float], tree_nodes: int, gap: float) -> Solution:
    if not programme.lower:  # nothing to decide: the solver calls that an error
        held = all(lower <= 0 <= upper for _, lower, upper in programme.rows)
        return Solution(Outcome.OPTIMAL if held else Outcome.INFEASIBLE)
    import highspy

    solver = _loaded(programme, objective, whole=True)
    for option, value in (
        ("mip_max_nodes", tree_nodes),
        ("mip_rel_gap", gap),
        ("mip_abs_gap", 1e-6),
        ("mip_feasibility_tolerance", 1e-7),
    ):
        solver.setOptionValue(option, value)
    solver.run()
    status = solver.getModelStatus()
    info = solver.getInfo()
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return Solution(Outcome.INFEASIBLE)
    found = tuple(float(round(value)) for value in solver.getSolution().col_value)
    if status == highspy.HighsModelStatus.kOptimal and not gap:
        value = float(sum(objective[column] * found[column] for column in objective))
        return Solution(Outcome.OPTIMAL, found, value, value)
    if info.primal_solution_status == 2:  # a feasible point is known
        value = float(sum(objective[column] * found[column] for column in objective))
        bound = min(float(info.mip_dual_bound), value)
        return Solution(Outcome.OPTIMAL if bound == value else Outcome.BOUNDED, found, value, bound)
    return Solution(Outcome.GAVE_UP)


def _loaded(programme: Programme, objective: Mapping[Column, float], *, whole: bool) -> "highspy._core._Highs":  # pyright: ignore[reportPrivateUsage] - the public class prints a banner
    # The heavy import waits for the first plan: tools that only read objects start without it.
    import highspy
    import numpy as np

    columns = len(programme.lower)
    costs = np.zeros(columns)
    for column, factor in objective.items():
        costs[column] = factor
    starts, indices, values = [0], list[int](), list[float]()
    for terms, _, _ in programme.rows:
        for column, factor in terms:
            indices.append(column)
            values.append(factor)
        starts.append(len(indices))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, len(programme.rows)
    model.col_cost_ = costs
    model.col_lower_ = np.array(programme.lower)
    model.col_upper_ = np.array(programme.upper)
    model.row_lower_ = np.array([lower for _, lower, _ in programme.rows])
    model.row_upper_ = np.array([upper for _, _, upper in programme.rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(starts, dtype=np.int32)
    model.a_matrix_.index_ = np.array(indices, dtype=np.int32)
    model.a_matrix_.value_ = np.array(values)
    if whole:
        model.integrality_ = [highspy.HighsVarType.kInteger] * columns
    solver = highspy._core._Highs()  # pyright: ignore[reportPrivateUsage] - the public class prints a banner
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 1),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    return solver
