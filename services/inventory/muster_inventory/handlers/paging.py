"""Pages of a list that is sorted by a key of texts: a token is the key of the last item before the page."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from muster_servicekit.errors import Invalid

T = TypeVar("T")
Key = tuple[str, ...]

DEFAULT_SIZE, LARGEST_SIZE = 500, 5000
_SEPARATOR = "\n"  # in no Kubernetes name


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next_token: str


def page_size(asked: int) -> int:
    """0 asks for the default; more than the largest page is cut."""
    return min(asked or DEFAULT_SIZE, LARGEST_SIZE)


def read_token(token: str) -> Key:
    """The key after which the page begins; `()` for the first page. Raises Invalid for a token that none of ours is."""
    if not token:
        return ()
    try:
        return tuple(base64.b64decode(token, b"-_", validate=True).decode().split(_SEPARATOR))
    except ValueError as error:
        raise Invalid("page.token is none that this service gave out; begin without one", "BAD_PAGE_TOKEN") from error


def cut_page(items: Iterable[tuple[Key, T]], size: int) -> Page[T]:
    """The first `size` of the items, which begin behind the token's key already."""
    found = list(islice(items, size + 1))
    more = len(found) > size
    kept = found[:size]
    token = base64.urlsafe_b64encode(_SEPARATOR.join(kept[-1][0]).encode()).decode() if more else ""
    return Page(tuple(item for _, item in kept), token)
