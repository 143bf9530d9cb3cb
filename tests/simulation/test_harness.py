"""The harness itself: it repeats, it is honest about the store, and it notices."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster_eventstore.testing import EventStoreContract
from simulation.chance import Chance
from simulation.faults import Faults, Kind, Rates
from simulation.lanes import Lane
from simulation.loop import SimLoop, Stuck
from simulation.run import run_seed
from simulation.scenario import make_scenario
from simulation.store import SimStore, WatchedServer

TESTS = Path(__file__).resolve().parents[1]


async def no_strike(_: str) -> None:
    """Nothing goes wrong."""
    await asyncio.sleep(0)


class TestTheStoreOfTheSimulation(EventStoreContract):
    @pytest.fixture
    async def store(self) -> SimStore:
        server = WatchedServer(lambda: datetime.now(UTC), lambda _: None)
        return SimStore(server, "test", Faults(Chance(0), Rates({}), lambda: 0.0, 0.0), no_strike)


def test_a_seed_gives_the_same_run_again_and_after_other_runs() -> None:
    first = run_seed(11)
    run_seed(12)
    again = run_seed(11)
    assert (again.digest, again.steps, again.faults) == (first.digest, first.steps, first.faults)


def test_a_run_does_not_depend_on_how_python_hashes_strings() -> None:
    script = "from simulation.run import run_seed; print(run_seed(7).digest)"
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH", ""))))
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("1", "2")
    }
    assert len(digests) == 1


def test_the_named_faults_alone_repeat_a_run() -> None:
    free = run_seed(14)
    assert {fault.kind for fault in free.faults} > {Kind.INCIDENT}
    named = run_seed(14, frozenset(fault.key for fault in free.faults))
    assert (named.digest, named.by_gang) == (free.digest, free.by_gang)


def test_the_seeds_of_make_test_meet_every_kind_of_fault() -> None:
    rates = [make_scenario(seed).rates for seed in range(300)]
    always = {Kind.CLOCK, Kind.INCIDENT}  # these are planned, not drawn at every await
    assert {kind for kind in Kind if any(rate[kind] for rate in rates)} == set(Kind) - always


def test_time_jumps_to_the_next_timer_when_nothing_is_ready() -> None:
    loop = SimLoop(1, lambda: 0.0)

    async def sleep() -> float:
        await asyncio.sleep(3600.0)
        return loop.time()

    assert loop.run_until_complete(sleep()) == 3600.0
    loop.close()


def test_a_killed_lane_runs_no_further_and_its_neighbours_do() -> None:
    loop = SimLoop(1, lambda: 0.0)
    seen: list[str] = []

    async def tell(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append(name)

    async def main() -> None:
        doomed, other = Lane("doomed"), Lane("other")
        loop.spawn(doomed, tell("early", 1.0))
        loop.spawn(doomed, tell("late", 3.0))
        loop.spawn(other, tell("other", 3.0))
        await asyncio.sleep(2.0)
        loop.kill(doomed)
        await asyncio.sleep(5.0)

    loop.run_until_complete(loop.create_task(main(), context=loop.world.context.copy()))
    loop.close()
    assert seen == ["early", "other"]


def test_what_spins_without_end_is_noticed() -> None:
    loop = SimLoop(1, lambda: 0.0, most_steps_at_once=1000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 -- it spins on purpose
            await asyncio.sleep(0)

    with pytest.raises(Stuck):
        loop.run_until_complete(spin())
    loop.close()
