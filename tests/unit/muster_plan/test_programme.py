from muster_plan.programme import Outcome, Programme


def test_the_least_cover_is_found_and_proven() -> None:
    programme = Programme()
    small, large = programme.column(0, 10), programme.column(0, 10)
    programme.row([(small, 2.0), (large, 8.0)], lower=9)
    found = programme.minimum({small: 3.0, large: 10.0}, tree_nodes=100)
    assert (found.outcome, found.objective, found.bound) == (Outcome.OPTIMAL, 13.0, 13.0)
    assert (found.whole(small), found.whole(large)) == (1, 1)


def test_contradicting_rows_are_infeasible() -> None:
    programme = Programme()
    column = programme.column(0, 3)
    programme.row([(column, 1.0)], lower=4)
    assert programme.minimum({}, tree_nodes=100).outcome is Outcome.INFEASIBLE


def test_a_programme_without_columns_is_decided_by_its_rows() -> None:
    empty = Programme()
    assert empty.minimum({}, tree_nodes=1).outcome is Outcome.OPTIMAL
    empty.row([], lower=1)
    assert empty.minimum({}, tree_nodes=1).outcome is Outcome.INFEASIBLE


def test_a_column_named_twice_in_a_row_counts_its_sum() -> None:
    programme = Programme()
    column = programme.column(0, 10)
    programme.row([(column, 1.0), (column, 1.0)], lower=6)
    assert programme.minimum({column: 1.0}, tree_nodes=10).whole(column) == 3
