"""Two replicas of each service: one writes, one stands by; a stalled writer is replaced, and fenced when it wakes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster_eventstore import JetStreamStore
from support import stories
from support.deployment import EXAMPLES
from support.nats_server import store_on
from support.processes import SERVICES, MusterProcesses, ServiceProcess, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[tuple[MusterProcesses, dict[str, ServiceProcess]]]:
    """Every service, and a second process of each that stands by."""
    with MusterProcesses(tmp_path, settings={"MUSTER_LEASE_SECONDS": "4"}) as muster:
        second = {name: muster.service(name) for name in SERVICES}
        for name, process in second.items():
            process.log = muster.home / "logs" / f"{name}-2.log"
            process.start()
        try:
            for name, process in second.items():
                wait_for(lambda p=process: "standing by" in p.text(), f"the second {name} stands by")
            yield muster, second
        finally:
            for process in second.values():
                if process.pid:
                    process.kill()


async def test_a_stalled_replica_is_replaced_and_ends_when_it_wakes(
    replicated: tuple[MusterProcesses, dict[str, ServiceProcess]],
) -> None:
    muster, second = replicated
    asked = muster.muster("request", EXAMPLES / "story-1", "--no-wait")
    assert asked.status == 0, asked.err
    gang = asked.out.strip()
    first = dict(muster.services)
    for name in SERVICES:
        os.kill(first[name].pid, signal.SIGSTOP)
    muster.services |= second
    try:
        for name, process in second.items():
            wait_for(lambda p=process: "lease acquired" in p.text(), f"the second {name} has the lease")
            process.wait_serving()
        async with store_on(muster.nats.url) as store:
            await stories.wait_consumed(store)
            # Facts that the stalled coordinator had pulled come again after their consumer's ack wait.
            wait_for(
                lambda: orders_of(muster, gang) == ["filled"], "the order is told to the coordinator that took over"
            )
            await stories.check_story_1(muster, store, gang)
            positions = await _positions(store)
            for name in SERVICES:
                os.kill(first[name].pid, signal.SIGCONT)
            for name in SERVICES:
                assert first[name].wait_exit() == 1, f"{name} ends, for another one writes"
                assert "FENCED" in first[name].text()
            assert await _positions(store) == positions, "those who woke wrote nothing"
    finally:
        for name in SERVICES:
            if first[name].pid:
                first[name].kill()
    assert all("Traceback" not in process.text() for process in (*first.values(), *second.values()))


def orders_of(muster: MusterProcesses, gang: str) -> list[str]:
    return [order.state for order in stories.gang_view(muster, gang).orders]


def test_a_standby_ends_at_once_when_it_is_asked_to(
    replicated: tuple[MusterProcesses, dict[str, ServiceProcess]],
) -> None:
    _, second = replicated
    assert {name: process.stop() for name, process in second.items()} == dict.fromkeys(SERVICES, 0)


def test_a_stopped_writer_hands_over_without_waiting_for_its_lease_to_end(
    replicated: tuple[MusterProcesses, dict[str, ServiceProcess]],
) -> None:
    muster, second = replicated
    assert muster.services["gang-coordinator"].stop() == 0
    second["gang-coordinator"].wait_serving()
    listed = muster.muster("gang", "list")
    assert listed.status == 0, listed.err


async def _positions(store: JetStreamStore) -> dict[str, int]:
    names = ("inventory", "claims", "gangs", "provisioning")
    return {name: (await store.state(name)).last_sequence for name in names}
