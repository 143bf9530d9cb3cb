"""Quantities as the apiserver reads them (dra-semantics §1.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_types import NANO, InvalidQuantity, format_quantity, parse_quantity, to_integer, to_milli


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("1", NANO),
        ("1.5Gi", 1536 * 1024**2 * NANO),
        ("1000m", NANO),
        ("1e3", 1000 * NANO),
        ("5E-1", NANO // 2),
        ("1E", 10**18 * NANO),
        ("-4", -4 * NANO),
        ("Gi", 0),
        ("-", 0),
        (".", 0),
        (".5", NANO // 2),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("9223372036854775808", (2**63 - 1) * NANO),
    ],
)
def test_a_quantity_has_its_exact_value(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


@pytest.mark.parametrize(
    "text", ["", " 1", "1 Gi", "1K", "1KB", "NaN", "1_000", "Infinity", "١", "1GiB", "--1", "1e", "1ee3"]
)
def test_what_the_apiserver_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="invalid quantity"):
        parse_quantity(text)


def test_equal_amounts_compare_equal_however_written() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1024Mi") == parse_quantity("1073741824")


@given(st.integers(min_value=-(2**62) * NANO, max_value=2**62 * NANO))
def test_the_canonical_text_reads_back_as_the_same_value(nano: int) -> None:
    assert parse_quantity(format_quantity(nano)) == nano


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_integer_and_milli_values_round_away_from_zero(nano: int) -> None:
    for value, unit in ((to_integer(nano), NANO), (to_milli(nano), 10**6)):
        assert abs(value) * unit >= abs(nano) > (abs(value) - 1) * unit or nano == value == 0


@pytest.mark.parametrize(
    ("text", "canonical"), [("1536Mi", "1536Mi"), ("1.5Gi", "1536Mi"), ("1000m", "1"), ("0.5", "500m")]
)
def test_the_canonical_text_is_the_shortest(text: str, canonical: str) -> None:
    assert format_quantity(parse_quantity(text)) == canonical
