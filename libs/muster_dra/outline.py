"""A plan with what was found for it, and the outline of a search: what only depends on which requests may end it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from muster_dra.bounds import Bound, whole_or_none
from muster_dra.classes import interchangeable
from muster_dra.found import Found
from muster_dra.plan_content import Choice, PlanContent, bits_of, mask_of
from muster_dra.prepare import MAX_RESULTS
from muster_dra.symmetry import PartitionSet, partition_groups


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """For each request: its `horizon`, up to which a search may prune, the devices that it or a later one may touch
    (`relevant`), and the constraints of its claim that it or a later one is under (`bound`).

    The horizon is the first request at or behind it that may end the attempt as fatal.
    """

    horizon: tuple[int, ...]
    prunes: bool
    """False when nothing may be skipped: an end is possible, and so is a claim of too many devices."""
    relevant: tuple[int, ...]
    bound: tuple[tuple[int, ...], ...]


class Plan:
    """`watched` are the devices whose use makes a difference; `solved` and `solved_sets` are kept by the solver."""

    __slots__ = (
        "_alike",
        "_bounds",
        "_first_bound",
        "_outlines",
        "_partitions",
        "_reaches",
        "_starts",
        "classes_exclusive",
        "classes_shared",
        "content",
        "counts",
        "every_error",
        "harmless",
        "has_admin",
        "least",
        "options",
        "order_free",
        "partition_counters",
        "partitioned",
        "shrinks",
        "solved",
        "solved_sets",
        "watched",
    )

    def __init__(self, content: PlanContent) -> None:
        self.content = content
        self.solved: dict[object, Found] = {}
        self.solved_sets: dict[object, Found] = {}
        self.options = tuple(choice for request in content.requests for choice in request.choices)
        self.watched = 0
        for choice in self.options:
            self.watched |= choice.touched
        self.has_admin = any(choice.admin for choice in self.options)
        self.least = _needs(content, min)
        """The smallest number of devices for each claim."""
        self.counts = max(_needs(content, max), default=0) > MAX_RESULTS
        """Whether a claim could ask for too many devices, so that their number matters."""
        self.every_error = _every_error(content)
        """Request, option and device where the selectors of a mode All fail, or None."""
        self.harmless = self.every_error is None and not any(
            may_end(choice, choice.errors, content) for choice in self.options
        )
        """Whether no search on this plan can end as fatal."""
        self.shrinks = self.harmless and bool(self.options) and max(self.least, default=0) <= MAX_RESULTS
        """Whether devices that no solution can use may be left out from the start."""
        self._outlines: dict[tuple[bool, ...], Outline] = {}
        self._bounds: dict[tuple[int, int], Bound] = {}
        self._reaches: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.order_free = (
            self.harmless
            and not self.has_admin
            and not content.negative
            and not any(table.ordered for table in content.constraints)
        )
        """Whether requests may be looked at in any order to tell if they can be satisfied together."""
        self._first_bound: Bound | None = None
        self._starts: tuple[tuple[int, bool, bool], ...] | None = None
        self._partitions: tuple[tuple[PartitionSet, ...], ...] | None = None
        self.partitioned = 0
        """Devices of the groups; filled in by `partitions`, like the positions of their counters."""
        self.partition_counters: tuple[int, ...] = ()
        self._alike: tuple[int, ...] | None = None
        self.classes_exclusive: tuple[int, ...] = ()
        self.classes_shared: tuple[tuple[int, ...], ...] = ()

    def bound(self, number: int, horizon: int) -> Bound:
        """The bound for the requests from `number` up to `horizon` in any state of a search."""
        key = number, horizon
        found = self._bounds.get(key)
        if found is None:
            found = self._bounds[key] = Bound(self.content, number, horizon, merged=False)
        return found

    def first_bound(self) -> Bound:
        """The bound for all requests before anything is taken."""
        if self._first_bound is None:
            self._first_bound = Bound(self.content, 0, len(self.content.requests), merged=True)
        return self._first_bound

    def outline(self, ends: tuple[bool, ...]) -> Outline:
        """The outline when those requests may end the attempt."""
        found = self._outlines.get(ends)
        if found is None:
            found = self._outlines[ends] = _outline(self.content, ends, self.counts)
        return found

    def reach_of(self, requests: int) -> tuple[int, tuple[int, ...]]:
        """The devices that a set of requests may touch, and the constraints that they are under."""
        found = self._reaches.get(requests)
        if found is None:
            touched, under = 0, set[int]()
            for number in bits_of(requests):
                for choice in self.content.requests[number].choices:
                    touched |= choice.touched
                    under.update(choice.constraints)
            found = self._reaches[requests] = touched, tuple(sorted(under))
        return found

    def starts(self) -> tuple[tuple[int, bool, bool], ...]:
        """For each set of the first bound what it starts from: the devices if nothing is in use, whether exclusive use
        bars them, and whether one that is barred bars all (mode All).
        """
        if self._starts is None:
            self._starts = tuple(
                (starting_mask(choice, self.content), not choice.admin, choice.every)
                for choice in (self.options[option] for option in self.first_bound().examples)
            )
        return self._starts

    def partitions(self) -> tuple[tuple[PartitionSet, ...], ...]:
        """The groups of counter sets that are equal but for names."""
        if self._partitions is None:
            self._partitions = () if self.has_admin else partition_groups(self.content)
            for group in self._partitions:
                for one in group:
                    self.partitioned |= one.devices
                    self.partition_counters += one.positions
        return self._partitions

    def alike(self) -> tuple[int, ...]:
        """For each device the set of those it can be exchanged with. Also fills in the classes."""
        if self._alike is None:
            self._alike = interchangeable(self.content)
            masks = sorted(set(self._alike))
            self.classes_exclusive = tuple(
                mask for mask in masks if mask & (mask - 1) and not mask & self.content.shared
            )
            self.classes_shared = tuple(tuple(bits_of(mask)) for mask in masks if mask & self.content.shared)
        return self._alike


def starting_mask(choice: Choice, content: PlanContent) -> int:
    """The devices that an option could take if nothing were in use; for mode All its members or none."""
    if choice.every:
        return whole_or_none(mask_of(choice.members), choice.refused)
    return choice.candidates & ~(choice.over & ~content.shared if content.negative else choice.over)


def may_end(choice: Choice, errors: int, content: PlanContent) -> bool:
    """Whether the search can end as fatal at the choice, with these devices in error still within reach."""
    return (bool(choice.constraints) and content.all_ends) if choice.every else errors != 0


def _needs(content: PlanContent, pick: Callable[[Iterable[int]], int]) -> tuple[int, ...]:
    needs = [0] * (1 + max((request.claim for request in content.requests), default=-1))
    for request in content.requests:
        needs[request.claim] += pick(choice.need for choice in request.choices)
    return tuple(needs)


def _every_error(content: PlanContent) -> tuple[int, int, int] | None:
    for number, request in enumerate(content.requests):
        for position, choice in enumerate(request.choices):
            if choice.every and choice.errors:
                return number, position, next(bits_of(choice.errors))
    return None


def _outline(content: PlanContent, ends: tuple[bool, ...], counts: bool) -> Outline:
    count = len(content.requests)
    horizon, relevant = [count], [0]
    bound: list[tuple[int, ...]] = [()]
    known: set[int] = set()
    for number in range(count - 1, -1, -1):
        request = content.requests[number]
        horizon.append(number if ends[number] else horizon[-1])
        touched = relevant[-1]
        for choice in request.choices:
            touched |= choice.touched
            known.update(choice.constraints)
        relevant.append(touched)
        bound.append(() if request.opens_claim else tuple(sorted(known)))
        if request.opens_claim:
            known = set()
    return Outline(
        tuple(reversed(horizon)),
        not (counts and any(ends)),
        tuple(reversed(relevant)),
        tuple(reversed(bound)),
    )
