"""Where the library cel-expr-python and upstream's cel-go part ways: one test for each, with both answers.

The library is the oracle of the other tests; these are reasons why it is no more than that: docs/decisions/0002-cel.md.
"""

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from unit.muster_dra.cel.outcomes import outcome

_LIBRARY = cel.NewEnv(
    variables={},
    extensions=[ext_bindings.ExtBindings(), ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_math.ExtMath()],
)


def library_outcome(expression: str) -> str:
    """How the library ends an expression without variables; a value that is no bool counts as true."""
    try:
        value = _LIBRARY.compile(expression).eval()
    except RuntimeError:
        return "compile error"
    if value.type() == cel.Type.ERROR:
        return "runtime error"
    return "false" if value.value() is False else "true"


DIFFERENCES = {
    "literals hold one type only": ("[1, 'a'].size() == 2", "true", "compile error"),
    "map literals hold one type only": ("{'a': 1, 'b': 'c'}.size() == 2", "true", "compile error"),
    "an optional is no result": ("optional.of(true)", "runtime error", "compile error"),
    "a result is a bool": ("1", "true", "compile error"),
    "math is not in the environment": ("math.greatest(1, 2) == 2", "true", "compile error"),
    "quoted field names are not in the environment": ("{'b': 1}.`b` == 1", "true", "compile error"),
    "strings have no reverse": ("'abc'.reverse() == 'cba'", "true", "compile error"),
    "two-variable macros": ("{'a': 1}.all(k, v, v == 1)", "compile error", "true"),
    "transformList": ("[1].transformList(i, v, v + i) == [1]", "compile error", "true"),
    "transformMap": ("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", "compile error", "true"),
    "transformMapEntry": ("{'a': 1}.transformMapEntry(k, v, {k: v}) == {'a': 1}", "compile error", "true"),
    "existsOne": ("[1].existsOne(x, x == 1)", "compile error", "true"),
    "sortBy": ("['b', 'a'].sortBy(x, x) == ['a', 'b']", "compile error", "true"),
    "lists of cel-go": ("lists.range(2) == [0, 1]", "compile error", "true"),
    "lists of Kubernetes": ("[1, 2].isSorted() && [1, 2].sum() == 3", "compile error", "true"),
    "includes": ("[1, 2].includes(2)", "compile error", "true"),
    "sets": ("sets.contains([1], [1])", "compile error", "true"),
    "find": ("'a1'.find('[0-9]') == '1'", "compile error", "true"),
    "urls": ("isURL('https://a')", "compile error", "true"),
    "addresses": ("ip('::1').family() == 6", "compile error", "true"),
    "networks": ("cidr('10.0.0.0/8').prefixLength() == 8", "compile error", "true"),
    "quantities": ("quantity('1k') == quantity('1000')", "compile error", "true"),
    "versions": ("semver('1.0.0').major() == 1", "compile error", "true"),
    "named formats": ("format.named('uuid').hasValue()", "compile error", "true"),
    "authorisation compiles where a value is dynamic": ("[dyn(1)][0].allowed()", "compile error", "runtime error"),
    "constant conversions are evaluated at once": ("int('x') == 1", "runtime error", "compile error"),
    "constant durations are checked at once": ("duration('x') == duration('1s')", "runtime error", "compile error"),
    "constant patterns are checked at once": ("'a'.matches('[')", "runtime error", "compile error"),
    "format strings are checked at once": ("'%d'.format(['a']) == ''", "runtime error", "compile error"),
    "a double that overflows is no literal": ("1e999 > 0.0", "true", "compile error"),
    "NaN has no order": ("double('nan') < 1.0", "false", "runtime error"),
    "bool takes T and F": ("bool('T')", "runtime error", "true"),
    "milliseconds of a duration are all of them": ("duration('1.5s').getMilliseconds() == 1500", "false", "true"),
    "a duration is printed with the digits it needs": ("string(duration('1.5s')) == '1.5s'", "false", "true"),
    "a timestamp keeps its zone": (
        "string(timestamp('2024-01-01T00:00:00+01:00')) == '2024-01-01T00:00:00+01:00'", "false", "true",
    ),
    "%f groups its digits": ("'%f'.format([1234567.0]) == '1,234,567.000000'", "false", "true"),
    "%e is typeset": ("'%e'.format([1052.0]) == '1.052000e+03'", "true", "false"),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "library", "upstream"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_difference_is_settled_for_upstream(expression: str, library: str, upstream: str) -> None:
    assert (library_outcome(expression), outcome(expression)) == (library, upstream)


def test_the_library_does_not_read_messages_of_an_unknown_descriptor() -> None:
    # `device` would have to be a protobuf message, which this package may not know.
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        cel.NewEnv(variables={"device": cel.Type("kubernetes.DRADevice")}).compile("device.driver == 'a'")
