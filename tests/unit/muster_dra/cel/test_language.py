"""The language and its libraries, feature by feature (dra-semantics §4.2); the expressions stand in `expressions/`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unit.muster_dra.cel.outcomes import outcome

_FOLDER = Path(__file__).parent / "expressions"


def _expressions(name: str) -> Iterator[Any]:
    """The lines of a file, each with the heading it stands under and its number as id."""
    heading = ""
    for number, line in enumerate((_FOLDER / f"{name}.txt").read_text().splitlines(), 1):
        if line.startswith("#"):
            heading = line.removeprefix("# ")
        elif line:
            yield pytest.param(line, id=f"{heading}, line {number}")


@pytest.mark.parametrize("expression", list(_expressions("true")))
def test_the_expression_is_true(expression: str) -> None:
    assert outcome(expression) == "true"


@pytest.mark.parametrize("expression", list(_expressions("compile-errors")))
def test_the_expression_does_not_compile(expression: str) -> None:
    assert outcome(expression) == "compile error"


@pytest.mark.parametrize("expression", list(_expressions("runtime-errors")))
def test_the_expression_fails_while_it_runs(expression: str) -> None:
    assert outcome(expression) == "runtime error"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[49].map(n, lists.range(n))[0].includes(48)", "runtime error"),
        ("[49].map(n, lists.range(n))[0].includes(47)", "true"),
        ("lists.range(48).includes(99)", "false"),
        ("C.memory.add(1) == C.memory", "false"),
        ("C.memory != C.memory.add(0)", "true"),
        ("quantity('100Ti').add(quantity('1')).isInteger()", "false"),
        ("[quantity('1')] == [quantity('1').add(1)]", "true"),
        ("[dyn(A.driverVersion)] == [dyn('x')]", "true"),
        ("dyn('x') == A.driverVersion", "false"),
        ("{'a': C.memory.add(1)} == {'a': C.memory}", "false"),
        ("A.links == A.links && A.links != [1]", "true"),
        ("url('https://a').getHost() == A.index", "false"),
    ],
)
def test_odd_corners_are_as_upstream_has_them(expression: str, expected: str) -> None:
    assert outcome(expression) == expected
