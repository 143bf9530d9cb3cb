import pytest

from muster_audit.expressions import (
    Mention,
    comparisons_of,
    conjuncts,
    drivers_of,
    guarded_by,
    looks_everywhere,
    mentions_of,
)

A = 'device.attributes["d.com"]'
C = 'device.capacity["d.com"]'


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (f"{A}.x == 1", ["attributes d.com/x"]),
        (f'{A}["x"] == 1', ["attributes d.com/x"]),
        (f'{C}.memory.compareTo(quantity("1Gi")) >= 0', ["capacity d.com/memory"]),
        (f'"x" in {A} && {A}.y', ["attributes d.com/x", "attributes d.com/y"]),
        (f"{A}.?x.orValue(1) == 1", ["attributes d.com/x"]),
        ('device.driver == "d.com"', []),
        ("this does not parse (", []),
    ],
)
def test_what_an_expression_names(expression: str, names: list[str]) -> None:
    assert [f"{each.part} {each.full_name}" for each in mentions_of(expression)] == names


def test_presence_tests_are_guards() -> None:
    assert guarded_by(f'"x" in {A} && {A}.y == 1') == {Mention("attributes", "d.com", "x")}
    assert guarded_by(f"has({A}.y)") == {Mention("attributes", "d.com", "y")}


@pytest.mark.parametrize(
    ("expression", "comparison"),
    [
        (f"{A}.x == 1", "x == 1"),
        (f'{A}.x != "a"', 'x != "a"'),
        (f'{C}.m.compareTo(quantity("1Gi")) >= 0', 'm >= "1Gi"'),
        (f'{C}.m.isGreaterThan(quantity("1Gi"))', 'm > "1Gi"'),
        (f'{A}.v.isLessThan(semver("1.0.0"))', 'v < "1.0.0"'),
        (f"{A}.b == true", "b == true"),
    ],
)
def test_comparisons_with_literals(expression: str, comparison: str) -> None:
    assert [str(each) for each in comparisons_of(expression)] == [comparison]


@pytest.mark.parametrize(
    ("expression", "everywhere"),
    [
        (f"{A}.x == 1 && device.allowMultipleAllocations", False),
        ('device.driver == "d.com"', False),
        (f"{A}.size() > 2", True),
        (f"{A}.exists(k, k == 'x')", True),
        (f'{A}["a" + "b"] == 1', True),
        ("[device].size() == 1", True),
    ],
)
def test_an_expression_that_looks_at_more_than_it_names_is_told_apart(expression: str, everywhere: bool) -> None:
    assert looks_everywhere(expression) is everywhere


def test_the_drivers_that_an_expression_compares_with() -> None:
    assert drivers_of('device.driver == "a" || device.driver in ["b", "c"]') == {"a", "b", "c"}
    assert drivers_of(f"{A}.x == 1") == frozenset()


def test_parts_between_and_are_split_outside_of_brackets_and_quotes_alone() -> None:
    assert conjuncts('a && (b && c) && "d && e" == f') == ("a", "(b && c)", '"d && e" == f')
    assert conjuncts("a && b || c") == ("a && b || c",)
