"""What the search reads of claims on a shape, as hashable values: sets of devices are integers with a bit for each."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster_dra.tables import ConstraintTable

Takes = tuple[tuple[int, tuple[int, ...]], ...]
"""For each shared device that a choice may take: its number, and how much of each of its capacities."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a request on a shape.

    `candidates`: devices that could be taken if nothing were in use; `over` are those that would have to give more
    than their total. `errors`: devices on which the selectors fail, if they are reached. For mode All, where they are
    reached in any case, `members` are "all", in order, and `refused` those of them that can never be taken.
    """

    candidates: int
    over: int
    errors: int
    need: int
    every: bool
    members: tuple[int, ...]
    refused: int
    admin: bool
    constraints: tuple[int, ...]
    takes: Takes
    unread: int = 0
    """Those of the errors that nobody has asked yet: whether they are errors is to be found out once one is reached."""

    @property
    def touched(self) -> int:
        """Every device whose use can make a difference to the choice."""
        return self.candidates | self.over | self.errors | mask_of(self.members)


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    claim: int
    opens_claim: bool
    """Whether it is the first of its claim."""
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class PlanContent:
    """All that the search reads of claims and shape."""

    size: int
    requests: tuple[PlannedRequest, ...]
    constraints: tuple[ConstraintTable, ...]
    shared: int
    totals: tuple[tuple[int, tuple[int, ...]], ...]
    """For each shared device some choice may take: its number and capacities."""
    draws: tuple[tuple[tuple[int, int], ...], ...]
    """For each device what it draws from the counters; empty when no device of the shape draws any."""
    drawing: int
    """Devices whose counters have to be asked for."""
    counters_of: tuple[tuple[int, ...], ...]
    """For each device all counters of its pool; empty like `draws`."""
    counter_sets: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
    """For each counter set the names of its counters, sorted, and their positions."""
    negative: bool
    """Whether an amount or a draw is negative, so that taking a device can make room for another."""
    admin_pays: bool
    """Whether admin access draws counters, as it does upstream (#140729)."""
    all_ends: bool
    """Whether a constraint that refuses one of "all" ends the attempt, as it does upstream."""
    members_vary: bool
    """Whether shares that are held leave devices out of "all" (1.36, D6)."""


def bits_of(mask: int) -> Iterator[int]:
    """The device numbers of a set, in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def mask_of(devices: tuple[int, ...]) -> int:
    mask = 0
    for device in devices:
        mask |= 1 << device
    return mask
