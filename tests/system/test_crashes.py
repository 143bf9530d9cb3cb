"""SIGKILL of one process in the middle of story 1, and its return: the story ends the same."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from muster.events.gangs.v1 import gangs_pb2
from muster_eventstore import JetStreamStore
from support import stories
from support.nats_server import wait_until
from support.processes import DEADLINE, EVENT_STORE, SCHEDULER, MusterProcesses
from support.recorded import Moment, of_type, wait_moment
from support.stories import Cloud

pytestmark = pytest.mark.slow

NODES_COMING = Moment("the ordered nodes are on their way", "gangs", "OrderFillRecorded")
ORDERED = Moment("nodes are ordered", "gangs", "NodesOrdered")
ARRIVED = Moment("the inventory saw a node arrive", "inventory", "NodeArrived")
VERIFYING = Moment("every node is there", "gangs", "VerificationStarted")
READY = Moment("the gang is offered", "gangs", "GangReadied")
Awaited = Callable[[MusterProcesses, JetStreamStore], Awaitable[object]]


def recorded(moment: Moment) -> Awaited:
    """Until the event is on its stream."""
    return lambda _, store: wait_moment(store, moment)


async def machines_complete(muster: MusterProcesses, _: JetStreamStore) -> None:
    """Until the cloud has made everything that it will make."""
    await wait_until(lambda: Cloud.read(muster.state).complete(), "both machines are complete", DEADLINE)


async def at_once(_: MusterProcesses, __: JetStreamStore) -> None:
    """No pause."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Kill `service` at a moment of the story; start it again when the others have done what they can without it."""

    service: str
    at: Moment
    down_until: Awaited


CRASHES = (
    Crash("inventory", NODES_COMING, machines_complete),
    Crash("claim-matcher", NODES_COMING, recorded(VERIFYING)),
    Crash("gang-coordinator", NODES_COMING, recorded(ARRIVED)),
    Crash("provisioner", ORDERED, at_once),
    Crash("cluster-watcher", NODES_COMING, machines_complete),
    Crash(SCHEDULER, NODES_COMING, recorded(READY)),
)


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.service)
async def test_the_story_ends_the_same_when_a_service_is_killed_in_the_middle_and_started_again(
    muster: MusterProcesses, muster_store: JetStreamStore, crash: Crash
) -> None:
    gang = stories.request(muster)
    await wait_moment(muster_store, crash.at)
    muster.kill(crash.service)
    assert await of_type(muster_store, "gangs", gangs_pb2.GangReadied) == [], "killed in the middle"
    await crash.down_until(muster, muster_store)
    muster.restart(crash.service)
    await stories.wait_consumed(muster_store)
    await stories.check_story_1(muster, muster_store, gang)
    await stories.check_replay(muster, muster_store)


async def test_the_story_ends_the_same_when_the_event_store_is_killed_in_the_middle_and_started_again(
    muster: MusterProcesses, muster_store: JetStreamStore
) -> None:
    gang = stories.request(muster)
    await wait_moment(muster_store, NODES_COMING)
    muster.kill(EVENT_STORE)
    await machines_complete(muster, muster_store)
    muster.restart(EVENT_STORE)
    await stories.wait_consumed(muster_store)
    await stories.check_story_1(muster, muster_store, gang)
    muster.kill(EVENT_STORE)
    assert muster.stop_services() == dict.fromkeys(muster.services, 0), "everybody can stop while the store is away"
    assert muster.tracebacks() == []
