"""The crash matrix: SIGKILL of each service at each step of three sagas, its restart, and the same end.

It takes minutes and runs when it is asked for: `pytest tests/system -m matrix -n 2 --dist load`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.events.gangs.v1 import gangs_pb2
from muster_eventstore import JetStreamStore
from support import stories
from support.fleets import quick_fleet
from support.processes import SERVICES, MusterProcesses
from support.recorded import Moment, wait_moment

pytestmark = [pytest.mark.matrix, pytest.mark.slow]

ARRIVING = Moment("ARRIVING", "gangs", "OrderFillRecorded")


async def nothing(_: MusterProcesses, __: JetStreamStore, ___: str) -> None:
    """The story goes on by itself."""


async def cancel_on_the_way(muster: MusterProcesses, store: JetStreamStore, gang: str) -> None:
    """Somebody cancels while the nodes are on their way."""
    await wait_moment(store, ARRIVING)
    stories.cancel(muster, gang)


@dataclass(frozen=True, slots=True)
class Saga:
    """What is asked for, what happens to it from outside, and how it must end."""

    name: str
    folder: Path
    act: Callable[[MusterProcesses, JetStreamStore, str], Awaitable[None]]
    wait: Callable[[JetStreamStore], Awaitable[None]]
    check: Callable[[MusterProcesses, JetStreamStore, str], Awaitable[None]]
    moments: tuple[Moment, ...]


SERVED = Saga(
    "served",
    stories.STORY_1,
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
    stories.STORY_2,
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
    stories.STORY_1,
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
CELLS = [
    pytest.param(service, saga, moment, id=f"{service}-{saga.name}-{moment.name}")
    for saga in (SERVED, SHORT, CANCELLED)
    for moment in saga.moments
    for service in SERVICES
]


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[MusterProcesses]:
    """Everything up on a fleet whose machines boot fast."""
    with MusterProcesses(tmp_path, quick_fleet(tmp_path / "fleet")) as running:
        yield running


@pytest.mark.parametrize(("service", "saga", "moment"), CELLS)
async def test_a_killed_service_that_comes_back_leads_to_the_same_end(
    muster: MusterProcesses, muster_store: JetStreamStore, service: str, saga: Saga, moment: Moment
) -> None:
    reached = asyncio.create_task(wait_moment(muster_store, moment))
    gang = await asyncio.to_thread(stories.request, muster, saga.folder)
    acted = asyncio.create_task(saga.act(muster, muster_store, gang))
    await reached
    muster.kill(service)
    muster.restart(service)
    await acted
    await saga.wait(muster_store)
    await saga.check(muster, muster_store, gang)
    await stories.check_replay(muster, muster_store)
