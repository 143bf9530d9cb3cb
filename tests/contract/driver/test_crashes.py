"""The provisioner ends at each of its appends and writes to a provider behind a socket, and a new process goes on.

Traps T46 and T47 of the capacity notes: whatever the moment, no order is sent twice, and the end is the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.driver.lives import CrashAt, Deliver, Life, World, tell, terms_of
from contract.driver.providers import opened
from muster_provisioner.domain.order import Stage

PROVIDERS = ("externalgrpc", "clusterapi", "karpenter")


async def place(life: Life) -> None:
    await life.place(terms_of(life.provider.group))


async def cancel(life: Life) -> None:
    await life.cancel(terms_of(life.provider.group))


async def cancel_all_but_the_first(life: Life) -> None:
    terms = terms_of(life.provider.group)
    await life.cancel(terms, life.order(terms).launched[0].node)


@dataclass(frozen=True, slots=True)
class Story:
    """Commands on one order of three nodes, the machines in stock, and where it must end."""

    name: str
    deliveries: Sequence[Deliver]
    stock: int
    stage: Stage
    left: int


STORIES = (
    Story("filled", (place,), 9, Stage.FILLED, 3),
    Story("stockout", (place,), 1, Stage.SHORT, 1),
    Story("cancelled", (place, cancel), 9, Stage.CANCELLED, 0),
    Story("cancelled but for one", (place, cancel_all_but_the_first), 9, Stage.CANCELLED, 1),
)


async def ends_well(path: Path, provider: str, story: Story, fault: CrashAt) -> None:
    await asyncio.to_thread(path.mkdir)
    async with opened(provider, path, story.stock) as outside:
        world = World(outside)
        await tell(world, story.deliveries, fault)
        where = f"{provider}, crash at {fault.passed[-1] if fault.passed else 'no point'}"
        async with world.life(CrashAt()) as life:
            assert life.order(terms_of(outside.group)).stage is story.stage, where
            assert await life.driver.target_size(outside.group) == 2 + story.left, where
        assert await outside.left() == story.left, where
        assert await outside.made() == 3, where


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_t46_t47_a_crash_at_any_step_ends_as_without_it_and_orders_once(
    tmp_path: Path, provider: str, story: Story
) -> None:
    whole = CrashAt()
    await ends_well(tmp_path / "whole", provider, story, whole)
    assert len(whole.passed) > 5
    for nth in range(1, len(whole.passed) + 1):
        await ends_well(tmp_path / str(nth), provider, story, CrashAt(nth))
