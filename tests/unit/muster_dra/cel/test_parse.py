"""The parser against the library's, and where it goes further."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_dra.cel.parse import parse
from muster_dra.cel.tokens import ParseFailed
from unit.muster_dra.cel.library_syntax import library_parses, shape

AGREED = """
a.b == 1
a.?b.orValue(1)
a[?"x"].c
a[1][2].b["c"].d()
[1, 2,]
[,]
{,}
{"a": 1, "b": 2,}
[?a.b, c]
{?"a": b, 1: c}
f()
f(1, b, [c])
.a.b.c
.f(1)
a.package.namespace
-1
- 1
--1
---1
-a
--a
!a
!!a
!!!a
!-1
-1.5
-0x1F
1u + 0x1Fu
.5
1.5e-3
1e3
1 + 2 * 3 - 4 / 5 % 6
1 < 2 == true
a in b in c
!a in b
a && b && c && d && e
a || b || c
a || b && c || d && e && f
a ? b : c ? d : e
a ? b || c : d && e
(a ? b : c).d
a.b.c.map(x, x > 1, x + 1)
a.all(x, x.y) && a.exists(y, y) && a.exists_one(z, z)
a.filter(x, has(x.b))
has(a.b.c)
cel.bind(x, 1, x + x)
a.optMap(v, v + 1)
a.optFlatMap(v, v.?b)
a.map(b, c, d, e)
all(a, b)
a.bind(x, 1, x)
"a\\x41\\u00e9\\U0001F600\\101\\n\\?\\`"
'a"b'
r"\\d\\n"
R'\\d'
\"\"\"a "b" 'c'
d\"\"\"
'''a'''
b"\\xff\\377é"
B'a'
br"\\d"
""
''
""  == ''''''
true && false || null == a
a // a comment
// first
 a
a.b{c: 1, ?d: 2}
A{}
"\\u2764" + '❤'
9223372036854775807
-9223372036854775808
18446744073709551615u
__a1__
""".strip().split("\n")


def _agreed() -> list[str]:
    # Expressions over several lines are joined again: a triple-quoted one and a comment's.
    joined = "\n".join(AGREED)
    joined = joined.replace("'c'\nd", "'c'\0d").replace("// first\n a", "// first\0 a")
    return [one.replace("\0", "\n") for one in joined.split("\n")]


@pytest.mark.parametrize("text", _agreed())
def test_the_parser_finds_what_the_library_finds(text: str) -> None:
    expected = library_parses(text)
    assert expected is not None, "the library refuses the text"
    assert shape(parse(text)) == shape(expected)


REFUSED = (
    "",
    " ",
    "1 +",
    "+ 1",
    "a.",
    "a..b",
    "a.1",
    "(",
    ")",
    "(a",
    "[1",
    "[1 2]",
    "{1}",
    "{1:}",
    "f(1,)",
    "f(,)",
    "a b",
    "a ? b",
    "a ? b :",
    "a ? : b",
    "let x = 1",
    "if",
    "a.in",
    "a.true",
    "a.null",
    "in",
    "as",
    "while(1)",
    "for.a",
    '"a',
    "'a\n'",
    '"\\q"',
    '"\\u12"',
    "'\\ud800'",
    "'\\U00110000'",
    "b'\\u0041'",
    "0x",
    "1uu",
    "1.",
    "1e",
    "@a",
    "a == = b",
    "a = b",
    "a & b",
    "a | b",
    "#",
    "$a",
    "a\u00a0",
    "é",
    "99999999999999999999",
    "-9223372036854775809",
    "18446744073709551616u",
    "[1].all(1, true)",
    "[1].all(x.y, true)",
    "cel.bind(1, 2, 3)",
    "has(a)",
    "has(a[0])",
    "has(a.b())",
    "a.optMap(1, 2)",
    "!-a",
    "-!a",
    "a?.b",
    "a.?b()",
    "`a`",
    "{`a`: 1}",
    "\\",
    "a\x00b",
    "[1].map(__result__, 1)",
)


@pytest.mark.parametrize("text", REFUSED)
def test_the_parser_refuses_what_the_library_refuses(text: str) -> None:
    assert library_parses(text) is None, "the library accepts the text"
    with pytest.raises(ParseFailed):
        parse(text)


_NAMES = st.sampled_from(("a", "b", "device", "x"))
_ATOMS = st.one_of(
    _NAMES, st.integers(-5, 5).map(str), st.sampled_from(("1u", "1.5", "'s'", 'b"s"', "true", "null", "[]", "{}", ".a"))
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"))
    return st.one_of(
        st.tuples(inner, binary, inner).map(" ".join),
        st.tuples(inner, inner, inner).map(lambda parts: f"{parts[0]} ? {parts[1]} : {parts[2]}"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"-({one})"),
        inner.map(lambda one: f"({one}).b"),
        inner.map(lambda one: f"({one}).?b"),
        inner.map(lambda one: f"has(({one}).b)"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda parts: f"{{{parts[0]}: {parts[1]}}}"),
        st.tuples(st.sampled_from(("all", "exists", "map", "filter")), inner, inner).map(
            lambda parts: f"({parts[1]}).{parts[0]}(x, {parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"cel.bind(x, {parts[0]}, {parts[1]})"),
    )


@settings(deadline=None)
@given(st.recursive(_ATOMS, _combined, max_leaves=8))
def test_on_any_expression_parser_and_library_agree(text: str) -> None:
    expected = library_parses(text)
    if expected is None:
        with pytest.raises(ParseFailed):
            parse(text)
    else:
        assert shape(parse(text)) == shape(expected)


def test_the_parser_takes_what_the_library_finds_too_deep() -> None:
    text = " + ".join(["a"] * 100)
    assert library_parses(text) is None
    assert parse(text)


def test_a_chain_of_optional_macros_stays_as_small_as_its_text() -> None:
    # The library copies the operand into the expansion: 17 links take it seconds and 40 MB.
    text = "optional.of(1)" + ".optMap(x, x)" * 60
    assert parse(text)


def test_a_number_too_large_for_a_double_is_refused_as_upstream_does() -> None:
    assert library_parses("1e999") is not None
    with pytest.raises(ParseFailed, match="invalid double literal"):
        parse("1e999")


def test_quoted_field_names_are_not_in_the_environment() -> None:
    assert library_parses("a.`b`") is not None
    with pytest.raises(ParseFailed, match="unexpected '`'"):
        parse("a.`b`")


def test_a_backquote_inside_of_a_string_or_comment_is_text() -> None:
    assert parse("'`' == \"a`b\" // `")


@pytest.mark.parametrize("text", ["(" * 300 + "a" + ")" * 300, "a" + ".b" * 300, "a ? b : " * 300 + "c"])
def test_nesting_beyond_upstreams_limit_is_refused(text: str) -> None:
    with pytest.raises((ParseFailed, RecursionError)):
        parse(text)


def test_the_place_of_a_syntax_error_is_told() -> None:
    with pytest.raises(ParseFailed, match="character 7: unexpected end of the expression"):
        parse("a.b ==")
