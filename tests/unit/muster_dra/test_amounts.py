"""The text of quantities: as written while they fit the integer form, canonical otherwise."""

import pytest

from muster_dra import Amount


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1e3", "1e3"),
        ("+1", "+1"),
        ("700m", "700m"),
        ("0001", "0001"),
        ("1024Mi", "1Gi"),
        ("0.5Ti", "512Gi"),
        ("1.5Gi", "1536Mi"),
        ("1.0000000001", "1000000001n"),
        ("1000000000000000000000", "9223372036854775807"),
    ],
)
def test_the_printed_text_follows_upstream(written: str, printed: str) -> None:
    amount = Amount.parse(written)
    assert amount.text == printed
    assert amount.written == written


def test_equal_values_may_be_written_differently() -> None:
    assert Amount.parse("5000m").nano == Amount.parse("5").nano
    assert Amount.parse("5000m").text != Amount.parse("5").text


@pytest.mark.parametrize(
    ("nano", "printed"), [(1536 * 2**20 * 10**9, "1536Mi"), (1000 * 10**9, "1k"), (5 * 10**8, "500m")]
)
def test_a_computed_amount_is_printed_in_binary_form(nano: int, printed: str) -> None:
    assert Amount.computed(nano).text == printed
