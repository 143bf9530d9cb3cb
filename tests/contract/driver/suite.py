"""What every driver of node groups promises; a driver's test derives from `DriverContract` and gives it a rig."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from muster_provisioner.domain.group import Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.ports import DriverError, DriverErrorKind, NodeGroupDriver, OrderTags
from muster_types import GangId, NodeGroupName, OrderId

ABSENT = NodeGroupName("no-such-group")


class Rig(Protocol):
    """A driver on a provider with one group of at most 6 nodes, 2 of which exist already.

    The second order of the group runs out of stock after one node.
    """

    @property
    def driver(self) -> NodeGroupDriver: ...

    @property
    def group(self) -> NodeGroupName: ...

    @property
    def tells_of_changes(self) -> bool:
        """Whether the provider tells the driver of changes."""
        ...

    async def pass_time(self, seconds: float) -> None:
        """Let the provider work for so long."""
        ...


def tags(name: str, first_ordinal: int = 0) -> OrderTags:
    return OrderTags(OrderId(name), GangId("train-1a2b3c"), first_ordinal)


class DriverContract:
    """The suite. Subclasses have a fixture `rig`."""

    async def test_it_lists_its_groups_with_their_bounds(self, rig: Rig) -> None:
        bounds = await rig.driver.groups()
        assert [(each.group, each.max_size) for each in bounds] == [(rig.group, 6)]

    async def test_it_shows_what_exists_already(self, rig: Rig) -> None:
        assert await rig.driver.target_size(rig.group) == 2
        found = await rig.driver.instances(rig.group)
        assert [each.state for each in found] == [InstanceState.RUNNING] * 2
        assert [each.order for each in found] == [None, None]

    async def test_a_group_that_it_does_not_have_is_a_permanent_error(self, rig: Rig) -> None:
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: rig.driver.target_size(ABSENT),
            lambda: rig.driver.instances(ABSENT),
            lambda: rig.driver.increase(ABSENT, 1, tags("a")),
            lambda: rig.driver.delete(ABSENT, [InstanceId("i")]),
            lambda: rig.driver.decrease_target(ABSENT, 1),
        ]
        for call in calls:
            assert await failure(call) is DriverErrorKind.PERMANENT

    async def test_an_increase_shows_at_once_and_its_instances_come_to_run(self, rig: Rig) -> None:
        before = {each.id for each in await rig.driver.instances(rig.group)}
        await rig.driver.increase(rig.group, 3, tags("a"))
        assert await rig.driver.target_size(rig.group) == 5
        await rig.pass_time(20)
        new = [each for each in await rig.driver.instances(rig.group) if each.id not in before]
        assert [each.state for each in new] == [InstanceState.RUNNING] * 3
        assert all(each.node for each in new)
        assert await rig.driver.target_size(rig.group) == 5

    async def test_instances_come_in_order_of_their_ids_which_do_not_change(self, rig: Rig) -> None:
        await rig.driver.increase(rig.group, 3, tags("a"))
        await rig.pass_time(20)
        first = [each.id for each in await rig.driver.instances(rig.group)]
        await rig.pass_time(20)
        assert first == sorted(set(first)) == [each.id for each in await rig.driver.instances(rig.group)]

    async def test_instances_name_their_order_and_ordinal_if_the_driver_says_so(self, rig: Rig) -> None:
        await rig.driver.increase(rig.group, 2, tags("a", first_ordinal=4))
        await rig.pass_time(20)
        named = [(each.order, each.ordinal) for each in await rig.driver.instances(rig.group) if each.order is not None]
        expected = [("a", 4), ("a", 5)] if rig.driver.traits(rig.group).tags_orders else []
        assert sorted(named) == expected

    @pytest.mark.parametrize("delta", [0, -1, 5])
    async def test_a_size_that_cannot_be_is_refused_and_changes_nothing(self, rig: Rig, delta: int) -> None:
        assert await failure(lambda: rig.driver.increase(rig.group, delta, tags("a"))) is DriverErrorKind.PERMANENT
        await rig.pass_time(20)
        assert await rig.driver.target_size(rig.group) == 2
        assert len(await rig.driver.instances(rig.group)) == 2

    async def test_t18_what_runs_out_of_stock_is_told_by_class_and_can_be_deleted(self, rig: Rig) -> None:
        await rig.driver.increase(rig.group, 1, tags("a"))
        await rig.driver.increase(rig.group, 3, tags("b"))
        await rig.pass_time(20)
        found = await rig.driver.instances(rig.group)
        failed = [each for each in found if each.failure is not None]
        assert [each.failure.kind for each in failed if each.failure] == [ShortfallClass.STOCKOUT] * 2
        assert all(each.failure.message for each in failed if each.failure)
        assert all(each.state is not InstanceState.RUNNING for each in failed)
        assert await rig.driver.target_size(rig.group) == 6
        await rig.driver.delete(rig.group, [each.id for each in failed])
        await rig.pass_time(20)
        assert await rig.driver.target_size(rig.group) == 4
        assert len(await rig.driver.instances(rig.group)) == 4

    async def test_a_deletion_lowers_the_target_once_whatever_is_repeated(self, rig: Rig) -> None:
        ids = await self._ordered(rig, 3)
        for _ in range(2):
            await rig.driver.delete(rig.group, ids[:2])
            assert await rig.driver.target_size(rig.group) == 3
            await rig.pass_time(20)
        left = await rig.driver.instances(rig.group)
        assert len(left) == 3
        assert not {each.id for each in left} & set(ids[:2])

    async def test_an_instance_that_it_never_had_is_passed_over(self, rig: Rig) -> None:
        ids = await self._ordered(rig, 1)
        await rig.driver.delete(rig.group, [InstanceId("never-was"), *ids])
        await rig.pass_time(20)
        assert await rig.driver.target_size(rig.group) == 2

    async def test_a_target_is_not_lowered_below_what_exists(self, rig: Rig) -> None:
        await self._ordered(rig, 2)
        assert await failure(lambda: rig.driver.decrease_target(rig.group, 1)) is DriverErrorKind.PERMANENT
        assert await rig.driver.target_size(rig.group) == 4
        assert len(await rig.driver.instances(rig.group)) == 4

    async def test_a_change_is_told(self, rig: Rig) -> None:
        if not rig.tells_of_changes:
            pytest.skip("this provider has no message to nudge a driver with: it is asked again and again instead")
        told = asyncio.ensure_future(rig.driver.wait_change(rig.group))
        await asyncio.sleep(0)
        assert not told.done()
        await rig.driver.increase(rig.group, 1, tags("a"))
        await asyncio.wait_for(told, 5)

    async def test_its_times_make_sense(self, rig: Rig) -> None:
        traits = rig.driver.traits(rig.group)
        assert 0 < traits.settle.total_seconds() < traits.order_limit.total_seconds()

    async def _ordered(self, rig: Rig, count: int) -> list[InstanceId]:
        before = {each.id for each in await rig.driver.instances(rig.group)}
        await rig.driver.increase(rig.group, count, tags("a"))
        await rig.pass_time(20)
        found: tuple[Instance, ...] = await rig.driver.instances(rig.group)
        return [each.id for each in found if each.id not in before]


async def failure(call: Callable[[], Awaitable[object]]) -> DriverErrorKind:
    """The kind of error that a call must end with."""
    with pytest.raises(DriverError) as error:
        await call()
    assert error.value.message
    return error.value.kind
