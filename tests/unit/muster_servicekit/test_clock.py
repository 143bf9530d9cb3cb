"""Clocks."""

import asyncio
from datetime import UTC, timedelta

from muster_servicekit.clock import FakeClock, SystemClock


async def test_a_fake_clock_stands_until_it_is_advanced_and_wakes_in_order() -> None:
    clock = FakeClock()
    begin = clock.now()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, (clock.now() - begin).total_seconds()))

    tasks = [asyncio.create_task(sleeper(name, seconds)) for name, seconds in (("b", 2), ("a", 1), ("c", 10))]
    await asyncio.sleep(0)
    assert woken == []
    await clock.advance(5)
    assert woken == [("a", 1), ("b", 2)]
    assert clock.now() == begin + timedelta(seconds=5)
    await clock.advance(5)
    await asyncio.gather(*tasks)
    assert woken[-1] == ("c", 10)


async def test_a_sleeper_that_was_woken_may_sleep_again_within_one_advance() -> None:
    clock = FakeClock()
    ticks: list[float] = []

    async def tick() -> None:
        for _ in range(3):
            await clock.sleep(1)
            ticks.append(clock.now().timestamp())

    task = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await clock.advance(10)
    await task
    assert [tick - ticks[0] for tick in ticks] == [0, 1, 2]


def test_the_system_clock_is_aware_and_in_utc() -> None:
    assert SystemClock().now().tzinfo is UTC
