"""No gang is starved by smaller ones that come and go, whatever their sizes, times and order."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_gang_coordinator.domain.fairness import whose_turn
from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.states import Waiting
from muster_types import GangId
from unit.muster_gang_coordinator.domain.test_fairness import a_waiting

NODES = 8
PATIENCE = 10  # minutes
LONGEST = 7  # minutes that a booking stands at most
MINUTE = timedelta(minutes=1)


@dataclass
class Queue:
    """`NODES` nodes; a gang that fits gets its nodes, others wait; every booking ends by its clock."""

    patience: float
    start: Waiting = field(default_factory=lambda: a_waiting("start"))
    minute: int = 0
    sizes: dict[GangId, tuple[int, int]] = field(default_factory=dict)
    waiting: dict[GangId, Waiting] = field(default_factory=dict)
    booked: list[tuple[int, int]] = field(default_factory=list)  # when it ends, how many nodes
    served: dict[GangId, int] = field(default_factory=dict)

    def ask(self, name: str, size: int, minutes: int) -> None:
        gang = GangId(name)
        now = self.start.saga.request_time + self.minute * MINUTE
        saga = replace(self.start.saga, gang_id=gang, request_time=now)
        self.sizes[gang] = (size, minutes)
        self.waiting[gang] = replace(self.start, saga=saga, reasons=(Reason("BOOKED", "capacity is booked"),))

    def step(self) -> None:
        """A minute passes; whoever may try does, in order."""
        self.minute += 1
        self.booked = [(end, size) for end, size in self.booked if end > self.minute]
        now = self.start.saga.request_time + self.minute * MINUTE
        for gang in whose_turn(self.waiting.values(), now, timedelta(minutes=self.patience)):
            size, minutes = self.sizes[gang]
            if size <= NODES - sum(taken for _, taken in self.booked):
                self.booked.append((self.minute + minutes, size))
                self.served[gang] = self.minute
                del self.waiting[gang]


def flooded(patience: float, small: list[tuple[int, int]], minutes: int) -> Queue:
    """A gang of all nodes asks in the second minute; small ones come every minute, for ever."""
    queue = Queue(patience)
    for minute in range(minutes):
        size, length = small[minute % len(small)]
        queue.ask(f"small-{minute}", size, length)
        if minute == 1:
            queue.ask("big", NODES, 1)
        queue.step()
    return queue


small_gangs = st.lists(st.tuples(st.integers(1, 4), st.integers(1, LONGEST)), min_size=1, max_size=12)


@given(small_gangs)
@settings(max_examples=200, deadline=None)
def test_the_biggest_gang_is_served_soon_after_its_patience_ends(small: list[tuple[int, int]]) -> None:
    queue = flooded(PATIENCE, small, 60)
    assert queue.served[GangId("big")] <= 2 + PATIENCE + LONGEST


@given(small_gangs)
@settings(max_examples=100, deadline=None)
def test_everybody_is_served_in_the_end(small: list[tuple[int, int]]) -> None:
    queue = flooded(PATIENCE, small, 40)
    for _ in range(40 * LONGEST):
        queue.step()
    assert queue.waiting == {}


def test_without_the_floor_it_would_wait_for_ever() -> None:
    queue = flooded(float(10**6), [(4, 3)], 500)
    assert GangId("big") in queue.waiting
    with pytest.raises(KeyError):
        queue.served[GangId("big")]
