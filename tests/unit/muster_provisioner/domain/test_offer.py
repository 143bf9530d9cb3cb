import pytest

from muster_provisioner.domain.offer import Offer, least_price, share_of
from muster_types import InvalidQuantity, parse_quantity


def an_offer(price: float | None, **allocatable: str) -> Offer:
    return Offer({}, {}, (), allocatable, allocatable, price, zero_or_max=False, order_limit_seconds=900)


def asked(**amounts: str) -> dict[str, int]:
    return {name: parse_quantity(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("amounts", "share"),
    [
        ({"cpu": "4"}, 0.5),
        ({"cpu": "1", "memory": "12Gi"}, 0.75),
        ({"cpu": "8", "memory": "16Gi"}, 1.0),
        ({"cpu": "9"}, None),
        ({"gpu": "1"}, None),
        ({"gpu": "0"}, 0.0),
        ({}, 0.0),
    ],
)
def test_a_pod_takes_the_part_that_its_scarcest_resource_takes(amounts: dict[str, str], share: float | None) -> None:
    assert share_of(an_offer(1.0, cpu="8", memory="16Gi"), asked(**amounts)) == share


def test_the_cheapest_offer_that_fits_and_has_a_price_counts() -> None:
    offers = [an_offer(100.0, cpu="100"), an_offer(None, cpu="100"), an_offer(4.0, cpu="2")]
    assert least_price(offers, asked(cpu="1")) == 1.0
    assert least_price(offers, asked(cpu="4")) == 4.0
    assert least_price(offers, asked(cpu="200")) is None
    assert least_price([], {}) is None


def test_a_quantity_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidQuantity):
        share_of(an_offer(1.0, cpu="many"), asked(cpu="1"))
