"""Expressions made to hurt: each ends soon, as an answer or an error, and never as an exception."""

import pytest

from muster_dra.cel import CelError, compile_selector
from unit.muster_dra.cel.outcomes import EXAMPLE, complaint, outcome

WORDS = frozenset(("true", "false", "compile error", "runtime error"))


def _links(start: str, link: str, levels: int) -> str:
    """`cel.bind` in `cel.bind`, each variable made of the one before by `link`."""
    opening = "".join(f"cel.bind(v{level + 1}, {link.format(f'v{level}')}, " for level in range(levels))
    return f"cel.bind(v0, {start}, {opening}v{levels}.size() > 0{')' * (levels + 1)}"


NESTED = {
    "sum": lambda n: f"{'+'.join(['1'] * n)} > 0",
    "brackets": lambda n: f"{'(' * n}true{')' * n}",
    "lists": lambda n: f"{'[' * n}1{']' * n}.size() == 1",
    "maps": lambda n: "{'a':" * n + "1" + "}" * n + ".size() == 1",
    "negations": lambda n: f"{'!(true || ' * n}true{')' * n}",
    "indexes": lambda n: f"A.links{'[0]' * n} == 1",
    "selections": lambda n: f"A{'.a' * n} == 1",
    "methods": lambda n: f"'a'{'.trim()' * n} == 'a'",
    "choices": lambda n: f"{'false ? true : ' * n}true",
    "loops": lambda n: f"{'[1].all(x, ' * n}true{')' * n}",
    "calls": lambda n: f"size({'string(' * n}1{')' * n}) == 1",
    "optional macros": lambda n: f"optional.of(1){'.optMap(x, x)' * n}.hasValue()",
    "and": lambda n: " && ".join(["true"] * n),
    "or": lambda n: " || ".join(["A.nope == 1"] * n),
    "minus": lambda n: f"{'-' * n}1 == 1",
    "not": lambda n: f"{'!' * n}true",
    "binds": lambda n: f"{'cel.bind(x, 1, ' * n}true{')' * n}",
}


@pytest.mark.parametrize("length", [20, 150, 1_000, 5_000])
@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_ends_in_an_answer_or_an_error(name: str, length: int) -> None:
    assert outcome(NESTED[name](length)) in WORDS


@pytest.mark.parametrize("name", sorted(set(NESTED) - {"selections", "indexes", "calls", "optional macros", "or"}))
def test_nesting_that_people_write_is_evaluated(name: str) -> None:
    assert outcome(NESTED[name](40)) in ("true", "false")


def test_being_called_from_deep_inside_is_not_remembered_as_an_error() -> None:
    expression = " + ".join(["1"] * 120) + " == 120"

    def descend(levels: int) -> object:
        return compile_selector(expression) if levels == 0 else descend(levels - 1)

    assert isinstance(descend(800), CelError)
    assert outcome(expression) == "true"


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(1000).all(x, lists.range(1000).all(y, lists.range(1000).all(z, true)))",
        "lists.range(100000000).size() > 0",
        "lists.range(900000).map(x, x).map(x, x).size() > 0",
        "lists.range(70000).map(x, [x, x]).size() > 0",
        "lists.range(60000).sort().size() > 0",
        "lists.range(3000).distinct().size() > 0",
        "sets.contains(lists.range(2000), lists.range(2000))",
        "lists.range(100000).transformMap(i, v, v).size() > 0",
        "[1, 2, 3].map(a, " * 12 + "1" + ")" * 12 + ".size() > 0",
        _links("'a' + A.model", "{0} + {0} + {0} + {0}", 30),
        _links("lists.range(1000)", "{0} + {0} + {0} + {0}", 30),
        _links("'aaaaaaaaaa'", "{0}.replace('', {0})", 10),
        _links("['aaaaaaaaaa']", "[{0}.join(), {0}.join(), {0}.join(), {0}.join()]", 30),
        _links("[[1], [2]]", "[{0}, {0}]", 40).replace("size() > 0", "flatten(100).size() > 0"),
        _links("[1, 2]", "[{0}, {0}]", 40).replace("v40.size() > 0", "v40 == [v39, v39]"),
        _links("[1, 2]", "[{0}, {0}]", 40).replace("v40.size() > 0", "'%s'.format([v40]) == ''"),
        _links("[1, 2]", "[{0}, {0}]", 40).replace("v40.size() > 0", "v40.indexOf(v40) == 0"),
        "A.model.matches('(a+)+$')" + " && A.model.matches('(a|a)*b')" * 20,
        "quantity('1e999999999').isGreaterThan(quantity('1e-999999999'))",
        "quantity('" + "9" * 9_000 + "').isInteger()",
        "semver('" + "9" * 9_000 + ".0.0').major() == 1",
        "int('" + "9" * 9_000 + "') == 1",
        "duration('" + "9" * 9_000 + "s') > duration('0s')",
        "timestamp('" + "9" * 9_000 + "') > timestamp(0)",
        "'" + "%s" * 4_000 + "' == ''",
        "'" + "%s" * 4_000 + "'.format([]) == ''",
        "'%.999999999f'.format([1.0]) == ''",
        "'a'.matches('" + "(" * 4_000 + ")" * 4_000 + "')",
        "'a'.matches('a{1000}{1000}')",
        "'" + "a" * 10_000 + "'.findAll('a').size() == 10000",
        "url('https://" + "a" * 9_000 + "').getHost() == ''",
        "ip('" + ":" * 9_000 + "').family() == 6",
    ],
)  # fmt: skip
def test_work_without_end_is_cut_short(expression: str) -> None:
    assert outcome(expression) in WORDS


def test_the_limit_of_nested_loops_is_told() -> None:
    expression = "lists.range(1000).all(x, lists.range(1000).all(y, lists.range(1000).all(z, true)))"
    assert complaint(expression) == "operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    "text", ["\ud800", "'\ud800'", "\x00", "a\x00b", "\u2028", "'\u2028' == '\u2028'", "﻿true", "💥"]
)
def test_odd_characters_are_no_surprise(text: str) -> None:
    assert outcome(text) in WORDS


@pytest.mark.parametrize("size", [10_240, 100_001, 1_000_000])
def test_long_texts_end_soon(size: int) -> None:
    for expression in (
        "a" * size,
        "1" * size,
        "(" * size,
        '"' * size,
        "[1," * (size // 3),
        "a." * (size // 2),
        " " * size,
    ):
        assert outcome(expression, EXAMPLE) == "compile error"
