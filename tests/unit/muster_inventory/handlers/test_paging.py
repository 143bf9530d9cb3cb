import pytest

from muster_inventory.handlers.paging import LARGEST_SIZE, cut_page, page_size, read_token
from muster_servicekit.errors import Invalid

ITEMS = [((f"driver-{index}", f"pool-{index}"), index) for index in range(5)]


def test_a_token_names_the_last_item_before_the_page() -> None:
    page = cut_page(ITEMS, 2)
    assert page.items == (0, 1)
    assert read_token(page.next_token) == ("driver-1", "pool-1")


def test_the_last_page_has_no_token() -> None:
    assert cut_page(ITEMS, 5).next_token == ""
    assert cut_page([], 5).items == ()


def test_a_page_is_never_larger_than_the_largest() -> None:
    assert page_size(10**9) == LARGEST_SIZE


@pytest.mark.parametrize("token", ["%%%", "a", "====", "\N{SNOWMAN}"])
def test_a_token_of_somebody_else_is_refused(token: str) -> None:
    with pytest.raises(Invalid, match=r"page\.token"):
        read_token(token)
