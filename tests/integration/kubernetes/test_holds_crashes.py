"""Whatever way a gang ends, and wherever the coordinator dies on it, nothing is held in the cluster afterwards."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contract.driver.providers import PointedKubeClient
from integration.kubernetes.test_holds import FINALIZER, GPU0, GPU1, TOLERANT, Held, a_cluster_in, a_plan, on_n1
from muster_gang_coordinator.domain.commands import CancelGang, RecordConfirmation, RecordNodeLoss, Timer
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_kubeapi import KubeConfig
from muster_types import NodeName
from support.kube_api import KubeApi
from unit.muster_gang_coordinator.builders import Story, a_node

ORDER = "a1-1"


class Death:
    """The process stops at the n-th point that it passes, and never goes on."""

    def __init__(self, nth: int) -> None:
        self._nth = nth
        self.passed = 0
        self.came = asyncio.Event()

    async def __call__(self, point: str) -> None:
        self.passed += 1
        if self.passed >= self._nth:
            self.came.set()
            await asyncio.Event().wait()


def ready(story: Story) -> None:
    """A gang with one pod on a node of the cluster, and one on a node that was ordered, offered."""
    story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0, GPU1))
    story.filled(ORDER, "n1").arrived(a_node("n1"))
    placements = (a_plan(GPU0, GPU1).placements[0], on_n1(1))
    story.tell(RecordConfirmation(1, placements, story.now))


def given_back(story: Story) -> None:
    story.cancelled(ORDER, "n1")
    story.released()


def consumed(story: Story) -> None:
    ready(story)
    story.bound("ml/p0")
    story.bound("ml/p1")


def cancelled(story: Story) -> None:
    ready(story)
    story.tell(CancelGang("deleted", story.now, "uid-1"))
    given_back(story)


def expired(story: Story) -> None:
    ready(story)
    story.at(60).woken(Timer.BOOKING)
    given_back(story)


def revoked(story: Story) -> None:
    ready(story)
    story.tell(RecordNodeLoss(NodeName("x1"), story.now))
    story.refused(NoPlanKind.NEVER, attempt=2)  # the repair
    given_back(story)


def failed(story: Story) -> None:
    story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0, GPU1))
    story.short(ORDER, missing=1)
    story.refused(NoPlanKind.NEVER, attempt=2)
    given_back(story)


ENDS = (consumed, cancelled, expired, revoked, failed)


@asynccontextmanager
async def cluster(home: Path, death: Death) -> AsyncGenerator[Held]:
    """A cluster whose coordinator dies; each life has a client of its own."""
    async with KubeApi() as api, PointedKubeClient(KubeConfig(api.kubeconfig(home / "config"))) as client:
        a_cluster_in(api)
        client.fault = death
        yield Held(api, client)


async def live_until(held: Held, death: Death) -> bool:
    """A life that is told everything at once; whether it ended by death."""
    async with held.life():
        done = asyncio.create_task(held.settled())
        dead = asyncio.create_task(death.came.wait())
        await asyncio.wait({done, dead}, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        dead.cancel()
        await asyncio.gather(done, dead, return_exceptions=True)
    return death.came.is_set()


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_a_coordinator_that_dies_at_any_write_leaves_nothing_once_another_has_come(
    tmp_path: Path, end: Callable[[Story], None]
) -> None:
    held_before = nth = 0
    died = True
    while died:
        nth += 1
        death = Death(nth)
        async with cluster(tmp_path, death) as held:
            ready_first = Story()
            (ready if end is not failed else _booked)(ready_first)
            held.story = ready_first
            died = await live_until(held, death)
            held_before += not held.nothing_left()
            held.story = Story()
            end(held.story)
            second = Death(nth)
            client = held.client
            assert isinstance(client, PointedKubeClient)
            client.fault = second
            died |= await live_until(held, second)
            client.fault = Death(10**9)
            async with held.life():
                await held.settled()
            assert held.nothing_left(), f"{end.__name__}, dead at write {nth}"
            assert FINALIZER not in (held.finalizers() or [])
    assert nth > 10, "it died at each of its writes"
    assert held_before > 5, "there was something to take away"


def _booked(story: Story) -> None:
    story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0, GPU1))
