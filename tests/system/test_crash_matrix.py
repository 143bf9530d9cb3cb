"""The crash matrix: SIGKILL of each service and of the event store at each step of four sagas, and its return, lead to
the same end.

It takes minutes and runs when it is asked for: `pytest tests/system -m matrix -n 2 --dist load`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.events.gangs.v1 import gangs_pb2
from muster_eventstore import JetStreamStore
from support import stories, waiting
from support.fleets import quick_fleet
from support.processes import EVENT_STORE, SERVICES, MusterProcesses
from support.recorded import Moment, wait_moment

pytestmark = [pytest.mark.matrix, pytest.mark.slow]

ARRIVING = Moment("ARRIVING", "gangs", "OrderFillRecorded")


async def ask_story_1(muster: MusterProcesses, _: JetStreamStore, __: Path) -> str:
    """Story 1 of the examples."""
    return stories.request(muster)


async def ask_story_2(muster: MusterProcesses, _: JetStreamStore, __: Path) -> str:
    """Story 2 of the examples."""
    return stories.request(muster, stories.STORY_2)


async def nothing(_: MusterProcesses, __: JetStreamStore, ___: str) -> None:
    """The story goes on by itself."""


async def cancel_on_the_way(muster: MusterProcesses, store: JetStreamStore, gang: str) -> None:
    """Somebody cancels while the nodes are on their way."""
    await wait_moment(store, ARRIVING)
    stories.cancel(muster, gang)


@dataclass(frozen=True, slots=True)
class Saga:
    """What is asked for (in a folder that a story may be written to), what happens to it from outside, and how it must
    end. Where `act` belongs to a moment of the saga itself, that is `act_at`."""

    name: str
    ask: Callable[[MusterProcesses, JetStreamStore, Path], Awaitable[str]]
    act: Callable[[MusterProcesses, JetStreamStore, str], Awaitable[None]]
    wait: Callable[[JetStreamStore], Awaitable[None]]
    check: Callable[[MusterProcesses, JetStreamStore, str], Awaitable[None]]
    moments: tuple[Moment, ...]
    act_at: Moment | None = None


SERVED = Saga(
    "served",
    ask_story_1,
    nothing,
    stories.wait_consumed,
    stories.check_story_1,
    (
        Moment("PLANNING", "gangs", "PlanningStarted"),
        Moment("PLANNING-booked-in-the-ledger", "claims", "GangBooked"),
        Moment("ORDERED", "gangs", "NodesOrdered"),
        Moment("ORDERED-intended", "provisioning", "OrderIntended"),
        Moment("ORDERED-filled", "provisioning", "OrderFilled"),
        ARRIVING,
        Moment("ARRIVING-first-node", "gangs", "NodeArrivalRecorded"),
        Moment("VERIFYING", "gangs", "VerificationStarted"),
        Moment("VERIFYING-confirmed", "claims", "GangConfirmed"),
        Moment("READY", "gangs", "GangReadied"),
        Moment("READY-first-pod", "gangs", "MemberBindRecorded"),
        Moment("CONSUMED", "gangs", "GangConsumed"),
    ),
)
SHORT = Saga(
    "short",
    ask_story_2,
    nothing,
    stories.wait_consumed,
    stories.check_story_2,
    (
        Moment("ARRIVING-short", "gangs", "ShortfallRecorded"),
        Moment(
            "PLANNING-again",
            "gangs",
            "PlanningStarted",
            lambda event: isinstance(event, gangs_pb2.PlanningStarted) and event.attempt == 2,
        ),
        Moment("ORDERED-again", "gangs", "SurplusReleased"),
    ),
)
CANCELLED = Saga(
    "cancelled",
    ask_story_1,
    cancel_on_the_way,
    stories.wait_cancelled,
    stories.check_cancelled,
    (
        Moment("COMPENSATING", "gangs", "CompensationStarted"),
        Moment("COMPENSATING-cancel-intended", "provisioning", "OrderCancelIntended"),
        Moment("COMPENSATING-order-back", "gangs", "OrderCancelRecorded"),
        Moment("CANCELLED", "gangs", "GangEnded"),
    ),
)
WAITED = Saga(
    "waited",
    waiting.ask_behind_another,
    waiting.let_the_first_go,
    waiting.wait_both,
    waiting.check_both,
    (
        waiting.WAITING,
        Moment("WAITING-room-is-free", "claims", "GangReleased"),
        Moment(
            "PLANNING-after-the-wait",
            "gangs",
            "PlanningStarted",
            lambda event: isinstance(event, gangs_pb2.PlanningStarted) and event.attempt == 2,
        ),
    ),
    act_at=waiting.WAITING,
)
CELLS = [
    pytest.param(service, saga, moment, id=f"{service}-{saga.name}-{moment.name}")
    for saga in (SERVED, SHORT, CANCELLED, WAITED)
    for moment in saga.moments
    for service in (*SERVICES, EVENT_STORE)
]


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[MusterProcesses]:
    """Everything up on a fleet whose machines boot fast."""
    with MusterProcesses(tmp_path, quick_fleet(tmp_path / "fleet")) as running:
        yield running


@pytest.mark.parametrize(("service", "saga", "moment"), CELLS)
async def test_a_killed_service_that_comes_back_leads_to_the_same_end(
    muster: MusterProcesses, muster_store: JetStreamStore, tmp_path: Path, service: str, saga: Saga, moment: Moment
) -> None:
    reached = asyncio.create_task(wait_moment(muster_store, moment))
    gang = await saga.ask(muster, muster_store, tmp_path / "story")
    acted = None if moment is saga.act_at else asyncio.create_task(saga.act(muster, muster_store, gang))
    await reached
    muster.kill(service)
    muster.restart(service)
    await (saga.act(muster, muster_store, gang) if acted is None else acted)
    await saga.wait(muster_store)
    await saga.check(muster, muster_store, gang)
    await stories.check_replay(muster, muster_store)
