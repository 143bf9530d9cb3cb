"""Costs in upstream's units, and that counting them changes no answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_dra.cel.bounds import highest_cost
from muster_dra.cel.build import build
from muster_dra.cel.checker import Checked, check
from muster_dra.cel.cost import size_of, traversal
from muster_dra.cel.environment import DEFAULT
from muster_dra.cel.parse import parse
from muster_dra.cel.plan import SPENT, blank_of
from muster_dra.cel.values import LIMIT, NONE, Aborted, EvalError, Optional, Value
from unit.muster_dra.cel.outcomes import EXAMPLE, a_device, an_attribute, expand, outcome


def _checked(expression: str) -> Checked:
    return check(parse(expand(expression)), DEFAULT.variables, DEFAULT.messages)


def _spent(expression: str) -> int:
    plan = build(_checked(expression), metered=True)
    frame: list[object] = [*EXAMPLE.frame().fields, *blank_of(plan.slots)]
    plan.run(frame)
    spent = frame[SPENT]
    assert isinstance(spent, int)
    return spent


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ("device.driver == 'gpu.example.com'", 4),  # name, selection, 15 characters compared
        ("A.ecc", 4),  # name and three selections
        ("A.index == 0", 5),
        ("has(A.index)", 3),  # the selections; a presence test itself is free
        ("'x' in A", 4),
        ("A.model == 'A100' && A.ecc", 9),
        ("false && A.ecc", 0),
        ("A.ecc ? true : false", 4),
        ("[A.ecc][0]", 16),  # 4 for the attribute, 10 for the list, one each for chain and index
        ("[1, 2] == [1, 2]", 1),  # constant lists cost nothing
        ("A.model in ['A100', 'H100']", 4),  # a lookup in constants is free
        ("A.index in A.links", 9),  # two attributes; upstream does not know that it is a list
        ("A.model.startsWith('A')", 5),
        ("A.model.matches('^A[0-9]+$')", 4 + 1 * 3),
        ("C.memory.compareTo(quantity('40Gi')) >= 0", 4 + 1 + 1 + 1),
        ("A.driverVersion.isGreaterThan(semver('550.0.0'))", 4 + 1 + 1),
        ("A.?index.orValue(1) == 0", 5),
        ("A.?nope.orValue(1) == 1", 4),
        ("A.links.includes(2)", 4 + 2),
        ("cel.bind(a, A, a.ecc)", 2 + 3),
        ("[1, 2, 3].all(x, x > 0)", 3 * (2 + 1 + 2) + 1),
        ("[1, 2, 3].exists(x, x == 1)", (3 + 1 + 2) + 3 + 1),
        ("[1, 2].map(x, x + 1) == [2, 3]", 2 * (2 + 1 + 10 + 1) + 1 + 1),
        ("[1, 2].filter(x, x > 1).size() == 1", 2 * 2 + (1 + 1 + 10 + 1) + 1 + 1 + 1),
        ("lists.range(3).size() == 3", 3 + 1 + 10 + 1 + 1),
        ("[3, 1].sort() == [1, 3]", 2 * 2 * 2 + 11 + 1),
        ("A.?index.optMap(x, x + 1).value() == 1", 4 + 1 + (4 + 1 + 1 + 1) + 1 + 1 + 1),
        ("{'a': A.index}.a == 0", 4 + 30 + 2 + 1),
    ],
)
def test_an_expression_costs_what_upstream_charges(expression: str, cost: int) -> None:
    assert _spent(expression) == cost


@pytest.mark.parametrize(
    ("value", "size"),
    [("é❤", 2), (b"ab", 2), ((1, 2), 2), ({"a": 1}, 1), (5, 1), (None, 1), (Optional(True, "abc"), 3), (NONE, 1)],
)
def test_the_size_of_a_value_is_that_of_its_text_list_or_map(value: Value, size: int) -> None:
    assert size_of(value) == size


def test_looking_at_a_whole_value_costs_all_of_its_parts() -> None:
    assert traversal(((1, 2), {"a" * 20: "b" * 10}, "c" * 30)) == 2 + 2 + 1 + 3
    shared: tuple[Value, ...] = (1,) * 10
    for _ in range(8):
        shared = (shared,) * 10
    with pytest.raises(Aborted):
        traversal(shared)


@pytest.mark.parametrize(
    ("expression", "bounded"),
    [
        ("A.model == 'A100' && C.memory.compareTo(quantity('40Gi')) >= 0", True),
        ("A.driverVersion.isGreaterThan(semver('550.0.0')) || A.model.lowerAscii().matches('^a')", True),
        ("A.links.exists(x, x == 1) && A.all(k, k != 'x')", True),
        ("[1, 2, 3].map(x, x * 2) == [2, 4, 6]", True),
        ("lists.range(A.index).size() == 0", False),
        ("A.links.all(x, A.links.all(y, A.links.all(z, A.links.all(w, x + y + z + w > 0))))", False),
        ("A.model.replace('a', A.model).replace('a', A.model).matches(A.model)", False),
    ],
)
def test_costs_are_counted_only_where_they_could_reach_the_limit(expression: str, bounded: bool) -> None:
    assert (highest_cost(_checked(expression)) <= LIMIT) is bounded


def test_a_device_beyond_the_limits_of_the_api_has_its_costs_counted() -> None:
    text = "a" * 4_000_000
    assert outcome("A.text.startsWith('a') && A.text.matches('a$')", a_device({"text": an_attribute("a")})) == "true"
    assert outcome(
        "A.text.matches('a$') && A.text.contains('aaaaaaaaaaaa')", a_device({"text": an_attribute(text)})
    ) == ("runtime error")


EXPRESSIONS: Sequence[str] = (
    "A.model == 'A100'",
    "A.index < 5 && A.ecc",
    "A.nope == 1 || A.ecc",
    "A.?nope.orValue(1) == 1",
    "A.links.exists(x, x == 2)",
    "A.links.all(x, x > 1)",
    "A.links.map(x, x + 1) == [2, 3]",
    "A.links.filter(x, x > 1).size() == 1",
    "A.model in ['A100']",
    "C.memory.compareTo(quantity('40Gi')) >= 0",
    "C.memory.isGreaterThan(quantity('1Gi'))",
    "C.memory.isLessThan(quantity('1'))",
    "A.driverVersion.isLessThan(semver('1.0.0'))",
    "A.driverVersion.isGreaterThan(semver('1.0.0'))",
    "A.model.isGreaterThan(semver('1.0.0'))",
    "A.model < 'B'",
    "A.model < 5",
    "A.index >= 0",
    "A.model >= 'A'",
    "A.?index.optMap(x, x == 0).orValue(false)",
    "A.?nope.optMap(x, x).hasValue()",
    "A.?index.optFlatMap(x, A.?ecc).value()",
    "cel.bind(a, A, a.ecc && a.nope)",
    "cel.bind(a, A.nope, true)",
    "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "A.links.transformList(i, v, i + v) == [1, 3]",
    "A.links.exists_one(x, x == 1)",
    "A.links.all(i, v, v == i + 1)",
    "A.model.exists(x, true)",
    "A.links.map(x, x / 0).size() == 0",
    "[1, 0].all(x, 1 / x == 1)",
    "A.links.sortBy(x, -x) == [2, 1]",
    "'%s'.format([A.model]) == 'A100'",
    "A.nope.b.c",
    "A.model.b",
    "has(A.model.b)",
    "has(A.nope)",
    "A[A.model]",
    "{'A100': true}[A.model]",
    "(A.ecc ? A : A).ecc",
    "A.links[A.index] == 1",
    "device.attributes[device.driver].ecc",
    "C.memory.add(1).isGreaterThan(C.memory)",
    "[?A.?index, ?A.?nope].size() == 1",
    "{?'a': A.?index}.size() == 1",
    "!A.ecc",
    "A.ecc != true",
    "optional.of(A.index).or(optional.none()).value() == 0",
    "dyn(device).driver == 'gpu.example.com'",
    "A.model",
    "A.links",
)


def _answer(expression: str, *, metered: bool) -> object:
    plan = build(_checked(expression), metered=metered)
    try:
        return plan.evaluate(EXAMPLE.frame().fields)
    except EvalError:
        return "error"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_counting_costs_changes_no_answer(expression: str) -> None:
    assert _answer(expression, metered=True) == _answer(expression, metered=False)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    logic = st.sampled_from(("&&", "||"))
    return st.one_of(
        st.tuples(inner, logic, inner).map(lambda parts: f"dyn({parts[0]}) {parts[1]} dyn({parts[2]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"dyn({parts[0]}) ? dyn({parts[1]}) : dyn({parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"[dyn({parts[0]}), dyn({parts[1]})].exists(e, e == true)"),
        inner.map(lambda one: f"cel.bind(b, dyn({one}), b == true || b == b)"),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(st.sampled_from(EXPRESSIONS), _combined, max_leaves=5))
def test_counting_costs_changes_no_answer_of_any_combination(expression: str) -> None:
    assert _answer(expression, metered=True) == _answer(expression, metered=False)
