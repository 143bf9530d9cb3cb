"""The evaluator against the library's own, on expressions without functions of Kubernetes."""

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
from hypothesis import given, settings
from hypothesis import strategies as st

from unit.muster_dra.cel.outcomes import outcome

_LIBRARY = cel.NewEnv(
    variables={},
    extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()],
)

Text = st.SearchStrategy[str]


def _library_outcome(expression: str) -> str:
    try:
        value = _LIBRARY.compile(expression).eval()
    except RuntimeError:
        return "compile error"
    if value.type() == cel.Type.ERROR:
        return "runtime error"
    return "true" if value.value() else "false"


# Small numbers, and those at the edges of int64; doubles that every step keeps exact.
_INTS: Text = st.sampled_from(("0", "1", "2", "-1", "7", "9223372036854775807", "-9223372036854775808"))
_UINTS: Text = st.sampled_from(("0u", "1u", "3u", "18446744073709551615u"))
_DOUBLES: Text = st.sampled_from(("0.0", "1.0", "0.5", "-2.0", "1e6", "3.0"))
_STRINGS: Text = st.sampled_from(("''", "'a'", "'ab'", "'A b'", "'aXbX'", "'é❤'", "'0'", "'12'", "'x.y'"))
_BOOLS: Text = st.sampled_from(("true", "false", "1 / 0 == 1"))


def _calls(template: str, *parts: Text) -> Text:
    return st.tuples(*parts).map(lambda filled: template.format(*filled))


def _of_type(depth: int) -> dict[str, Text]:
    """Strategies for expressions of each type, nested at most so deep."""
    if depth == 0:
        return {
            "int": _INTS,
            "uint": _UINTS,
            "double": _DOUBLES,
            "string": _STRINGS,
            "bool": _BOOLS,
            "list": st.sampled_from(("[1, 2, 3]", "[0]", "[2, 2]")),
            "strings": st.sampled_from(("['a', 'b']", "['']", "['aXb']")),
            "map": st.sampled_from(("{'a': 1, 'b': 2}", "{'': 0}")),
        }
    inner = _of_type(depth - 1)
    i, u, d, s, b = (inner[name] for name in ("int", "uint", "double", "string", "bool"))
    items, texts, table = inner["list"], inner["strings"], inner["map"]
    number = st.one_of(i, u, d)
    arithmetic = st.sampled_from(("+", "-", "*", "/"))
    order = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
    return {
        "int": st.one_of(
            i,
            _calls("({} {} {})", i, arithmetic, i),
            _calls("({} % {})", i, i),
            _calls("-({})", i),
            _calls("({}).size()", st.one_of(s, items, texts, table)),
            _calls("({}).map(k, k + {}).size()", table, s),  # the order of a map's keys is the library's secret
            _calls("size({})", s),
            _calls("int([{}][0])", st.one_of(i, u, d, s)),  # of a constant it would fail to compile, as upstream has it
            _calls("({} ? {} : {})", b, i, i),
            _calls("({})[{}]", items, i),
            _calls("({})['a']", table),
            _calls("cel.bind(v, {}, v + {})", i, i),
            _calls("({})[?{}].orValue({})", items, i, i),
            _calls("({}).?b.orValue({})", table, i),
            _calls("({}).?a.optMap(v, v + 1).orValue({})", table, i),
            _calls("({}).indexOf({})", s, s),
        ),
        "uint": st.one_of(u, _calls("({} {} {})", u, arithmetic, u), _calls("uint([{}][0])", st.one_of(i, d, s))),
        # No division: NaN has no order upstream, while the library answers false.
        "double": st.one_of(
            d, _calls("({} {} {})", d, st.sampled_from(("+", "-", "*")), d), _calls("double({})", st.one_of(i, d))
        ),
        "string": st.one_of(
            s,
            _calls("({} + {})", s, s),
            _calls("string({})", st.one_of(i, u, b, s)),
            _calls("({} ? {} : {})", b, s, s),
            _calls("({}).lowerAscii()", s),
            _calls("({}).replace({}, {})", s, s, s),
            _calls("({}).substring({})", s, i),
            _calls("({}).charAt({})", s, i),
            _calls("({}).trim()", s),
            _calls("({}).join({})", texts, s),
            _calls("({})[{}]", texts, i),
        ),
        "bool": st.one_of(
            b,
            _calls("({} {} {})", i, order, i),
            _calls("({} {} {})", s, order, s),
            _calls("(dyn({}) {} {})", number, order, number),
            _calls("({} && {})", b, b),
            _calls("({} || {})", b, b),
            _calls("!({})", b),
            _calls("({} == {})", b, b),
            _calls("({} == {})", items, items),
            _calls("({} == {})", table, table),
            _calls("({} in {})", i, items),
            _calls("({} in {})", s, table),
            _calls("({}).{}({})", s, st.sampled_from(("startsWith", "endsWith", "contains")), s),
            _calls("({}).matches('^[a-z]+$')", s),
            _calls("({}).{}(x, x {} {})", items, st.sampled_from(("all", "exists", "exists_one")), order, i),
            _calls("({}).{}(k, k {} {})", table, st.sampled_from(("all", "exists", "exists_one")), order, s),
            _calls("({}).all(x, x / {} > 0 || {})", items, i, b),
            _calls("has(({}).a)", table),
            _calls("({}).?a.hasValue()", table),
            _calls("(type({}) == {})", number, st.sampled_from(("int", "uint", "double"))),
            _calls("(dyn({}) == dyn({}))", st.one_of(number, s, b), st.one_of(number, s, b)),
        ),
        "list": st.one_of(
            items,
            _calls("[{}, {}]", i, i),
            _calls("({} + {})", items, items),
            _calls("({}).map(x, x + {})", items, i),
            _calls("({}).filter(x, x > {})", items, i),
            _calls("({}).map(x, x > {}, x * 2)", items, i),
        ),
        "strings": st.one_of(texts, _calls("[{}, {}]", s, s), _calls("({}).split({})", s, s)),
        "map": st.one_of(table, _calls("{{'a': {}, 'b': {}}}", i, i)),
    }


@settings(max_examples=300, deadline=None)
@given(_of_type(3)["bool"])
def test_on_any_standard_expression_evaluator_and_library_agree(expression: str) -> None:
    expected = _library_outcome(expression)
    assert outcome(expression) == expected, expression
