import asyncio
from hashlib import sha1
from pathlib import Path

import pytest

from muster_eventstore import TransientError
from muster_provisioner.domain.messages import OrderCancelled, OrderShort, ShortfallClass
from muster_provisioner.domain.order import OrderAlreadyPlaced, Stage
from muster_provisioner.ports import OrderTags
from muster_types import GangId, NodeName, OrderId

from .world import (
    BASE,
    CLUSTER,
    GROUP,
    World,
    a_cancel,
    a_manifest,
    an_order,
    cause,
    kinds,
    order_of,
)


async def test_an_order_is_recorded_sent_launched_and_filled_in_this_order(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    await process.runner.place(terms, cause("place"))
    await world.pass_time(process, 10)
    events = await world.events()
    assert [type(event).__name__ for event in events] == [
        "OrderIntended",
        "OrderAcknowledged",
        *["NodeLaunched"] * 3,
        "OrderFilled",
    ]
    assert await process.cloud.calls(GROUP) == (1, 1)
    assert world.objects.names("Node") == [f"h100-r7-{_hash(terms.order)}-{each}" for each in range(3)]
    assert len(world.objects.names("ResourceSlice")) == 3


async def test_the_same_command_twice_orders_once(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    for delivery in ("place", "place", "place-again"):
        await process.runner.place(terms, cause(delivery))
        await world.pass_time(process, 5)
    assert await process.cloud.calls(GROUP) == (1, 1)


async def test_an_order_id_with_other_terms_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    process = await world.boot()
    await process.runner.place(an_order(3), cause("place"))
    with pytest.raises(OrderAlreadyPlaced):
        await process.runner.place(an_order(4), cause("other"))


async def test_two_orders_of_a_group_are_placed_one_after_the_other_and_both_filled(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = an_order(2, "a-1"), an_order(3, "b-1")
    process = await world.boot()
    await process.runner.place(first, cause("first"))
    waiting = asyncio.create_task(process.runner.place(second, cause("second")))
    await asyncio.sleep(0)
    assert process.desk.get(CLUSTER, second.order) is None  # the first one may be sent or not: nobody else writes
    await world.pass_time(process, 1)
    await waiting
    await world.pass_time(process, 10)
    assert order_of(process, first).stage is Stage.FILLED
    assert order_of(process, second).stage is Stage.FILLED
    assert order_of(process, second).baseline.target == BASE + 2
    assert await process.cloud.target_size(GROUP) == BASE + 5


async def test_t18_a_stockout_keeps_what_was_launched_and_gives_the_rest_of_the_target_back(tmp_path: Path) -> None:
    world = World(tmp_path, manifest=a_manifest(script=[{"order": 1, "stockoutAfter": 1}]))
    process = await world.boot()
    await process.runner.place(an_order(3), cause("place"))
    await world.pass_time(process, 5)
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert (short.shortfall, short.missing, len(short.nodes)) == (ShortfallClass.STOCKOUT, 2, 1)
    assert await process.cloud.target_size(GROUP) == BASE + 1
    assert len(await process.cloud.instances(GROUP)) == BASE + 1


@pytest.mark.parametrize(
    ("script", "kind", "launched"),
    [
        ({"order": 1, "quota": 0}, ShortfallClass.QUOTA, 0),
        ({"order": 1, "quota": 2}, ShortfallClass.QUOTA, 2),
        ({"order": 1, "stockoutAfter": 0}, ShortfallClass.STOCKOUT, 0),
    ],
)
async def test_f9_a_refusal_names_its_class_and_leaves_nothing_behind(
    tmp_path: Path, script: dict[str, int], kind: ShortfallClass, launched: int
) -> None:
    world = World(tmp_path, manifest=a_manifest(script=[script]))
    process = await world.boot()
    await process.runner.place(an_order(3), cause("place"))
    await world.pass_time(process, 30)
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert short.shortfall is kind
    assert await process.cloud.target_size(GROUP) == BASE + launched


async def test_an_order_beyond_the_maximum_is_short_with_the_reason(tmp_path: Path) -> None:
    world = World(tmp_path)
    process = await world.boot()
    await process.runner.place(an_order(15), cause("place"))
    await world.pass_time(process, 5)
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert short.message == "h100-r7: a size of 17 exceeds its maximum of 16"


async def test_t16_a_call_that_takes_effect_without_an_answer_is_not_sent_again(tmp_path: Path) -> None:
    script = [{"order": 1, "applyAfterSeconds": 8}]
    for tells_orders in (True, False):
        world = World(tmp_path / str(tells_orders), manifest=a_manifest(script=script))
        process = await world.boot()
        process.driver.tells_orders = tells_orders
        await process.runner.place(an_order(8), cause("place"))
        await world.pass_time(process, 7)
        assert order_of(process, an_order(8)).stage is Stage.INTENDED
        await world.pass_time(process, 20)
        assert order_of(process, an_order(8)).stage is Stage.FILLED
        assert await process.cloud.calls(GROUP) == (1, 1)


async def test_f8_a_lost_answer_is_found_by_the_probe_and_a_lost_call_is_made_again(tmp_path: Path) -> None:
    for name, script, calls in (
        ("answer", {"order": 1, "loseAnswer": True}, (1, 1)),
        ("call", {"order": 1, "loseCall": True}, (2, 1)),
    ):
        world = World(tmp_path / name, manifest=a_manifest(script=[script]))
        process = await world.boot()
        await process.runner.place(an_order(3), cause("place"))
        await world.pass_time(process, 30)
        assert order_of(process, an_order(3)).stage is Stage.FILLED
        assert await process.cloud.calls(GROUP) == calls


async def test_an_outcome_that_cannot_be_recorded_at_once_is_not_made_again(tmp_path: Path) -> None:
    world, terms = World(tmp_path, tells_orders=False), an_order()
    appends = 0

    async def refuse_the_second_append(point: str) -> None:
        nonlocal appends
        appends += point == "before append"
        if point == "before append" and appends == 2:
            raise TransientError("lost too many races")

    process = await world.boot(refuse_the_second_append)
    await process.runner.place(terms, cause("place"))
    await world.pass_time(process, 30)
    assert appends > 2
    assert order_of(process, terms).stage is Stage.FILLED
    assert await process.cloud.calls(GROUP) == (1, 1)


async def test_nothing_else_is_written_in_a_group_while_the_outcome_of_a_call_is_unknown(tmp_path: Path) -> None:
    """Another order's deletions would move the target that the probe reads."""
    world = World(tmp_path, manifest=a_manifest(script=[{"order": 2, "loseCall": True}]), tells_orders=False)
    process = await world.boot()
    first, second = an_order(2, "a-1"), an_order(3, "b-1")
    await process.runner.place(first, cause("first"))
    await world.pass_time(process, 10)
    await process.runner.place(second, cause("second"))
    await world.pass_time(process, 1)
    await process.runner.cancel(a_cancel(world, first), cause("cancel"))
    await world.pass_time(process, 1)
    assert await process.cloud.target_size(GROUP) == BASE + 2
    await world.pass_time(process, 60)
    assert order_of(process, second).stage is Stage.FILLED
    assert order_of(process, first).stage is Stage.CANCELLED
    assert await process.cloud.target_size(GROUP) == BASE + 3


async def test_t17_another_writer_leads_to_no_second_order_and_keeps_its_nodes(tmp_path: Path) -> None:
    world = World(tmp_path, manifest=a_manifest(script=[{"order": 2, "loseAnswer": True}]))
    process = await world.boot()
    terms = an_order(8)
    await process.runner.place(terms, cause("place"))
    await process.cloud.increase(GROUP, 3, OrderTags(OrderId("somebody-else"), GangId(""), 0))
    await world.pass_time(process, 30)
    assert order_of(process, terms).stage is Stage.FILLED
    assert await process.cloud.calls(GROUP) == (2, 2)
    await process.runner.cancel(a_cancel(world, terms), cause("cancel"))
    await world.pass_time(process, 30)
    assert order_of(process, terms).stage is Stage.CANCELLED
    assert await process.cloud.target_size(GROUP) == BASE + 3


async def test_t17_without_tags_an_order_whose_effect_cannot_be_told_apart_is_not_sent_again(tmp_path: Path) -> None:
    world = World(tmp_path, manifest=a_manifest(script=[{"order": 2, "loseCall": True}]))
    process = await world.boot()
    process.driver.tells_orders = False
    terms = an_order(8)
    await process.runner.place(terms, cause("place"))
    await process.cloud.increase(GROUP, 3, OrderTags(OrderId("somebody-else"), GangId(""), 0))
    await world.pass_time(process, 60)
    assert await process.cloud.calls(GROUP) == (2, 1)
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert short.shortfall is ShortfallClass.OTHER


async def test_a_node_that_never_launches_ends_the_order_by_the_drivers_limit(tmp_path: Path) -> None:
    script = [{"order": 1, "delaySeconds": 10_000}]
    world = World(tmp_path, manifest=a_manifest(script=script, orderLimitSeconds=60))
    process = await world.boot()
    await process.runner.place(an_order(2), cause("place"))
    await world.pass_time(process, 100)
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert short.shortfall is ShortfallClass.TIMEOUT
    assert await process.cloud.target_size(GROUP) == BASE


async def test_a_cancel_takes_back_everything_but_the_kept_and_restores_the_target(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    await process.runner.place(terms, cause("place"))
    await world.pass_time(process, 10)
    kept = NodeName(world.objects.names("Node")[1])
    await process.runner.cancel(a_cancel(world, terms, kept), cause("cancel"))
    await world.pass_time(process, 5)
    cancelled = (await world.events())[-1]
    assert isinstance(cancelled, OrderCancelled)
    assert cancelled.kept_nodes == (kept,)
    assert world.objects.names("Node") == [kept]
    assert len(world.objects.names("ResourceSlice")) == 1
    assert await process.cloud.target_size(GROUP) == BASE + 1
    await process.runner.cancel(a_cancel(world, terms), cause("cancel-all"))
    await world.pass_time(process, 5)
    assert world.objects.by_key == {}
    assert await process.cloud.target_size(GROUP) == BASE


async def test_a_cancel_before_its_order_keeps_the_order_from_being_sent(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    await process.runner.cancel(a_cancel(world, terms), cause("cancel"))
    await process.runner.place(terms, cause("place"))
    await world.pass_time(process, 10)
    assert kinds(await world.events()) == {"OrderCancelled": 1}
    assert await process.cloud.calls(GROUP) == (0, 0)


async def test_a_cancel_between_intent_and_call_keeps_the_call_from_being_made(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    await process.runner.place(terms, cause("place"))
    await process.runner.cancel(a_cancel(world, terms), cause("cancel"))
    await world.pass_time(process, 10)
    assert order_of(process, terms).stage is Stage.CANCELLED
    assert await process.cloud.calls(GROUP) == (0, 0)


async def test_f27_an_order_that_takes_effect_after_its_cancel_is_given_back(tmp_path: Path) -> None:
    world = World(tmp_path, manifest=a_manifest(script=[{"order": 1, "applyAfterSeconds": 30}]))
    process = await world.boot()
    terms = an_order()
    await process.runner.place(terms, cause("place"))
    await world.pass_time(process, 1)
    await process.runner.cancel(a_cancel(world, terms), cause("cancel"))
    await world.pass_time(process, 20)
    assert order_of(process, terms).stage is Stage.CANCELLED
    await world.pass_time(process, 60)
    assert order_of(process, terms).stage is Stage.CANCELLED
    assert await process.cloud.target_size(GROUP) == BASE
    assert world.objects.by_key == {}


async def test_an_order_waits_for_the_declaration_of_its_group_and_then_gives_up(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot(declared=False)
    with pytest.raises(TransientError):
        await process.runner.place(terms, cause("place"))
    assert await world.events() == []
    await world.clock.advance(10)
    await process.runner.place(terms, cause("place"))
    short = (await world.events())[-1]
    assert isinstance(short, OrderShort)
    assert short.message == "node group h100-r7 is not declared"


async def test_a_provider_that_is_away_delays_the_order_and_nothing_is_lost(tmp_path: Path) -> None:
    world, terms = World(tmp_path), an_order()
    process = await world.boot()
    process.driver.away = True
    with pytest.raises(TransientError):
        await process.runner.place(terms, cause("place"))
    process.driver.away = False
    await process.runner.place(terms, cause("place"))
    process.driver.away = True
    await world.pass_time(process, 5)
    process.driver.away = False
    await world.pass_time(process, 60)
    assert order_of(process, terms).stage is Stage.FILLED


def _hash(order: str) -> str:
    return sha1(order.encode(), usedforsecurity=False).hexdigest()[:5]
