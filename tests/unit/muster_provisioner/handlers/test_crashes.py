"""The process ends without grace at every step that it takes, and a new one goes on from what is stored.

T46 and T47 of the capacity notes: whatever the moment, the provider hears of an order once, and the end is the same.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster_provisioner.domain.order import Stage
from muster_provisioner.handlers.order_book import replay
from muster_provisioner.handlers.order_json import export_orders
from muster_types import NodeName

from .world import (
    BASE,
    CLUSTER,
    GROUP,
    Crash,
    CrashAt,
    Fault,
    Process,
    World,
    a_cancel,
    a_manifest,
    an_order,
    cause,
    no_crash,
)

TERMS = an_order(3)
OTHER = an_order(2, "train-1a2b3c-a1-2", 3)
Deliver = Callable[[World, Process], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Story:
    """Commands as the work queue delivers them (again, until they were handled), and where the order must end: its
    stage, the nodes left in the group, and how many increases the provider took."""

    name: str
    script: tuple[dict[str, object], ...]
    deliveries: tuple[Deliver, ...]
    stage: Stage
    left: int
    taken: int


async def place(world: World, process: Process) -> None:
    await process.runner.place(TERMS, cause("place"))
    await world.pass_time(process, 40)


async def place_other(world: World, process: Process) -> None:
    await process.runner.place(OTHER, cause("place-other"))
    await world.pass_time(process, 40)


async def cancel_all(world: World, process: Process) -> None:
    await process.runner.cancel(a_cancel(world, TERMS), cause("cancel"))
    await world.pass_time(process, 40)


async def cancel_all_but_the_first(world: World, process: Process) -> None:
    first = NodeName(f"{GROUP}-{_FIRST}")
    await process.runner.cancel(a_cancel(world, TERMS, first), cause("cancel-some"))
    await world.pass_time(process, 40)


_FIRST = "a4b8d-0"  # hash and ordinal of the first node of the order
STORIES = [
    Story("filled", (), (place,), Stage.FILLED, 3, 1),
    Story("stockout", ({"order": 1, "stockoutAfter": 1},), (place,), Stage.SHORT, 1, 1),
    Story("refused", ({"order": 1, "quota": 0},), (place,), Stage.SHORT, 0, 0),
    Story("answer lost", ({"order": 1, "loseAnswer": True},), (place,), Stage.FILLED, 3, 1),
    Story("cancelled", (), (place, cancel_all), Stage.CANCELLED, 0, 1),
    Story(
        "cancelled after a stockout", ({"order": 1, "stockoutAfter": 2},), (place, cancel_all), Stage.CANCELLED, 0, 1
    ),
    Story("cancelled but for one", (), (place, cancel_all_but_the_first), Stage.CANCELLED, 1, 1),
    Story("cancelled in two steps", (), (place, cancel_all_but_the_first, cancel_all), Stage.CANCELLED, 0, 1),
    Story("two orders", (), (place, place_other), Stage.FILLED, 5, 2),
]


async def tell(world: World, story: Story, fault: Fault) -> Process:
    """Deliver every command until it was handled; a crash is followed by a new process, without further faults."""
    process = await world.boot(fault)
    for deliver in story.deliveries:
        try:
            await deliver(world, process)
        except Crash:
            process = await world.boot()
            await deliver(world, process)
    return process


async def passed_points(path: Path, story: Story) -> list[str]:
    """The points that a life without a crash passes."""
    counting = CrashAt(0)
    await tell(World(path, manifest=a_manifest(script=list(story.script))), story, counting)
    return counting.passed


@pytest.mark.parametrize("tells_orders", [True, False], ids=["tags", "no tags"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
async def test_a_crash_at_any_step_ends_as_without_it_and_orders_once(
    tmp_path: Path, story: Story, tells_orders: bool
) -> None:
    points = await passed_points(tmp_path / "counting", story)
    assert {"before append", "after append", "before increase"} <= set(points)
    for nth in range(1, len(points) + 1):
        world = World(tmp_path / str(nth), manifest=a_manifest(script=list(story.script)), tells_orders=tells_orders)
        process = await tell(world, story, CrashAt(nth))
        where = f"crash {points[nth - 1]} ({nth})"
        order = process.desk.get(CLUSTER, TERMS.order)
        assert order is not None, where
        assert order.stage is story.stage, where
        assert await process.cloud.target_size(GROUP) == BASE + story.left, where
        assert len(world.objects.names("Node")) == story.left, where
        assert len(world.objects.names("ResourceSlice")) == story.left, where
        heard, taken = await process.cloud.calls(GROUP)
        assert taken == story.taken, where
        assert heard == taken or not taken, where  # only a refused call is made again, when the answer was not recorded


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
async def test_replaying_the_history_gives_the_same_state(tmp_path: Path, story: Story) -> None:
    world = World(tmp_path, manifest=a_manifest(script=list(story.script)))
    await tell(world, story, no_crash)
    process = await world.boot()
    before = await world.events()
    assert replay([before]) == export_orders(process.book.of_cluster(CLUSTER))
    await world.pass_time(process, 60)
    assert await world.events() == before


async def test_a_second_crash_at_every_step_of_the_recovery_changes_nothing(tmp_path: Path) -> None:
    """The order was sent, then the process died before it could record that; the next one dies at each of its steps."""
    for nth in range(1, 40):
        world = World(tmp_path / str(nth), manifest=a_manifest())
        process = await world.boot(CrashAt(4))
        with pytest.raises(Crash, match="after increase"):
            await place(world, process)
        again = CrashAt(nth)
        process = await world.boot(again)
        try:
            await place(world, process)
            assert len(again.passed) < nth
            return
        except Crash:
            process = await world.boot()
            await place(world, process)
        assert (await process.cloud.calls(GROUP))[0] == 1
        assert len(world.objects.names("Node")) == TERMS.count
    raise AssertionError("the recovery never came to its end")
