"""Laws of the saga over random histories (architecture §3)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_gang_coordinator.domain.commands import CancelGang, Command, RequestGang, RetryGang
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    EndState,
    Event,
    GangConsumed,
    GangEnded,
    GangReadied,
    HoldStarted,
    NodesOrdered,
)
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.plans import existing_nodes
from muster_gang_coordinator.domain.policy import SagaPolicy, TrialOrders
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.states import Arriving, Consumed, Ended, Gang, Held, New, Ready, Verifying, Waiting
from muster_gang_coordinator.domain.status import EMPTY, TYPES, evolve_status
from muster_types import GangId
from property.gang.world import MEMBERS, World

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
GANG = GangId("train-1a2b3c")
SPEC = GangSpec("ml", "train", "uid-1", b"{}", (), MEMBERS, "hash", 0, timedelta(minutes=10), "workload/check")


class Run:
    """One gang in one world; `pick(n)` chooses a number below n."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        self.world = World(pick, NOON)
        trial = TrialOrders.ONE_NODE_FIRST if self.world.pick(2) else TrialOrders.OFF
        self.policy = SagaPolicy(max_setbacks=3, trial_orders=trial)
        self.decider = gang_decider(self.policy)
        self.gang: Gang = New()
        self.history: list[Event] = []
        self.delivered: list[Command] = []

    def tell(self, command: Command) -> None:
        self.delivered.append(command)
        events = self.decider.decide(command, self.gang)
        for event in events:
            self.gang = self.decider.evolve(self.gang, event)
            self.history.append(event)
            if isinstance(event, GangReadied):
                self.check_offer(event)
            if isinstance(event, GangEnded):
                self.check_end(event)
        assert not isinstance(self.gang, New)
        for event in events:
            for item in react(self.policy, event, self.gang.saga):
                self.world.send(item)

    def check_offer(self, offer: GangReadied) -> None:
        """Every member lies where allocation on the actual slices has put it."""
        assert offer.placements == self.world.confirmed[offer.attempt]
        assert len(offer.placements) == MEMBERS
        assert self.world.booked_attempt == offer.attempt

    def check_end(self, end: GangEnded) -> None:
        """An end state is written only when everything went back, and a gang with running members never fails."""
        assert not isinstance(self.gang, New)
        assert self.world.booked is None, "the ledger still holds a booking"
        assert self.world.nodes() <= self.world.stray, "a node that was ordered for the gang is left"
        assert not (self.gang.saga.bound and end.end_state in {EndState.FAILED, EndState.EXPIRED})

    def step(self) -> None:
        """One thing happens."""
        world = self.world
        what = world.pick(20)
        if what < 7 and world.pending:
            command = world.pending.pop(world.pick(len(world.pending)))
            if world.chance():
                world.pending.append(command)  # it will come again
            self.tell(command)
        elif what < 14:
            world.deliver_one()
        elif what == 14 and world.timers:
            self.tell(world.wake(world.pick(len(world.timers))))
        elif what == 15:
            world.lose_a_node()
        elif what == 16:
            world.launch_late()
        elif what == 17 and self.delivered:
            self.tell(self.delivered[world.pick(len(self.delivered))])
        elif isinstance(self.gang, Ready):
            if world.pick(2):
                world.bind_members(self.gang.placements)
            else:
                world.trouble(self.gang.placements)
        elif isinstance(self.gang, Verifying | Arriving) and self.gang.saga.plan is not None and world.pick(3) == 0:
            world.trouble(self.gang.saga.plan.placements)
        elif isinstance(self.gang, Held):
            again = replace(SPEC, name=f"train-{world.pick(3)}", uid=f"uid-{world.pick(3)}")
            self.tell(RequestGang(GANG, again, "request-2", world.now))
        elif isinstance(self.gang, Waiting):
            self.tell(RetryGang("something changed", world.now))
        elif world.pick(8) == 0:
            self.tell(CancelGang("no more", world.now, successor=bool(world.pick(2))))

    def settle(self) -> None:
        """The faults stop: everything that is on its way arrives, timers fire in order."""
        self.world.calm = True
        for _ in range(1000):
            if self.world.deliver_one():
                continue
            if self.world.pending:
                self.tell(self.world.pending.pop(0))
            elif self.world.timers and not isinstance(self.gang, Consumed | Ended | Waiting):
                first = min(range(len(self.world.timers)), key=lambda i: self.world.timers[i].due)
                self.tell(self.world.wake(first))
            elif not isinstance(self.gang, Consumed | Ended):
                self.tell(CancelGang("the test is over", self.world.now))
            else:
                return
        raise AssertionError(f"no end state after everything arrived: {self.gang}")


def drawn(data: st.DataObject) -> Callable[[int], int]:
    """Choices that hypothesis makes and shrinks."""
    return lambda size: data.draw(st.integers(0, size - 1)) if size > 1 else 0


def seeded(seed: int) -> Callable[[int], int]:
    """Choices of a seed: longer and wilder than drawn ones."""
    return Random(seed).randrange


def check_end(run: Run) -> None:
    """The five invariants, as far as one gang can break them."""
    run.settle()
    gang, world = run.gang, run.world
    assert isinstance(gang, Consumed | Ended)
    assert world.booked is None, "the ledger still holds a booking"
    assert sum(isinstance(e, BookingReleaseRecorded) for e in run.history) == world.released
    if isinstance(gang, Ended):
        assert world.nodes() == set(), "a node that was ordered for the gang is left"
    else:
        assert world.nodes() <= existing_nodes(gang.placements), "a node that no member uses is left"
    ids = [o.order_id for e in run.history if isinstance(e, NodesOrdered) for o in e.orders]
    assert len(ids) == len(set(ids))
    assert len(world.placed) == len(set(world.placed)), "an order was sent twice"
    assert sum(isinstance(e, GangEnded | GangConsumed) for e in run.history) == 1
    for command in run.delivered:
        assert run.decider.decide(command, gang) == [], f"a repeat of {command} after the end"


def begin(pick: Callable[[int], int], steps: int) -> Run:
    """A gang after some steps."""
    run = Run(pick)
    run.tell(RequestGang(GANG, SPEC, "request-1", NOON))
    for _ in range(steps):
        run.step()
    return run


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_whatever_is_lost_late_or_twice_the_gang_ends_with_nothing_left_over(data: st.DataObject) -> None:
    pick = drawn(data)
    check_end(begin(pick, pick(60)))


@pytest.mark.parametrize("hundred", range(5))
def test_long_histories_end_with_nothing_left_over(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        pick = seeded(seed)
        try:
            check_end(begin(pick, 40 + pick(60)))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_history_replays_to_the_same_state(data: st.DataObject) -> None:
    pick = drawn(data)
    run = begin(pick, pick(40))
    assert run.decider.fold(run.history) == run.gang


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_conditions_never_go_back_from_true_and_failed_never_stands_beside_provisioned(data: st.DataObject) -> None:
    pick = drawn(data)
    run = begin(pick, pick(60))
    run.settle()
    gang: Gang = New()
    status = EMPTY
    for event in run.history:
        gang = run.decider.evolve(gang, event)
        assert not isinstance(gang, New)
        after = evolve_status(status, event, gang)
        for type_ in TYPES:
            back = status.true(type_) and not after.true(type_)
            assert not back or isinstance(event, HoldStarted), f"{type_} went back at {event}"
        assert not (after.true("Failed") and after.true("Provisioned"))
        assert (after.find("Accepted") is None) == (after.find("Provisioned") is None)
        status = after
    assert any(status.true(t) for t in ("Failed", "BookingExpired", "CapacityRevoked"))
