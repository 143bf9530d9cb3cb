import pytest

from muster_audit.amount_words import amount_like
from muster_types import parse_quantity


@pytest.mark.parametrize(
    ("amount", "sample", "words"),
    [("30G", "100G", "30G"), ("20Gi", "40Gi", "20Gi"), ("3", "8", "3"), ("0", "100G", "0"), ("1500M", "1G", "1500M")],
)
def test_an_amount_is_written_as_the_sample_is(amount: str, sample: str, words: str) -> None:
    assert amount_like(parse_quantity(amount), sample) == words
