"""What a cloud sells in one node group: a new node, its price, how the group scales; and what a pod costs on it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_types import parse_quantity


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a new node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A new node of a group, its price for an hour (None: nobody said), whether the group grows to its maximum or not
    at all, and the longest time in seconds to wait for a node. Amounts are Kubernetes quantities."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    price: float | None
    zero_or_max: bool
    order_limit_seconds: float


def share_of(offer: Offer, asked: Mapping[str, int]) -> float | None:
    """The part of a new node that `asked` (nano-units by resource) takes, by its scarcest resource; None when it does
    not fit. Raises InvalidQuantity."""
    largest = 0.0
    for resource, amount in sorted(asked.items()):
        has = parse_quantity(offer.allocatable.get(resource, "0"))
        if amount > has:
            return None
        if amount:
            largest = max(largest, amount / has)
    return largest


def least_price(offers: Iterable[Offer], asked: Mapping[str, int]) -> float | None:
    """The least that a pod costs in an hour on a part of a node; None when no offer with a price fits it.

    Raises InvalidQuantity.
    """
    prices = [
        offer.price * share
        for offer in offers
        if offer.price is not None and (share := share_of(offer, asked)) is not None
    ]
    return min(prices, default=None)
