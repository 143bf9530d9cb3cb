"""Increases of the externalgrpc protocol whose outcome nobody knows (rule N-5.2, capacity notes), over a socket."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contract.driver.lives import CrashAt, Life, World, terms_of
from contract.driver.providers import GRPC_GROUP, GrpcProvider
from contract.driver.served_cloud import a_sold_group, serving
from muster_eventstore import Cause
from muster_provisioner.domain.messages import ShortfallClass
from muster_provisioner.domain.order import Stage
from muster_provisioner.ports import OrderTags
from muster_types import GangId, NodeGroupName, OrderId

SOLD = NodeGroupName("h100-r7")
TERMS = terms_of(GRPC_GROUP, count=8)


@asynccontextmanager
async def ordering(path: Path, **script: object) -> AsyncGenerator[tuple[Life, GrpcProvider]]:
    """A provisioner whose first order meets what the script says; the driver waits 30 s for a call to take effect."""
    driver = {"type": "simulated", "script": [{"order": 1, **script}]}
    async with serving(path, a_sold_group(maxSize=16, driver=driver)) as served:
        provider = GrpcProvider(served)
        async with World(provider).life(CrashAt()) as life:
            yield life, provider


async def test_t16_an_increase_that_takes_effect_late_is_not_sent_again(tmp_path: Path) -> None:
    async with ordering(tmp_path, applyAfterSeconds=10) as (life, provider):
        await life.place(TERMS, seconds=5)
        assert not life.order(TERMS).acknowledged
        assert await provider.served.cloud.calls(SOLD) == (1, 0)
        await life.pass_time(60)
        assert life.order(TERMS).stage is Stage.FILLED
        assert await provider.served.cloud.calls(SOLD) == (1, 1)
        assert await life.driver.target_size(GRPC_GROUP) == 10


async def test_an_increase_that_had_no_effect_is_sent_again_after_a_settle_window(tmp_path: Path) -> None:
    async with ordering(tmp_path, loseCall=True) as (life, provider):
        await life.place(TERMS, seconds=25)
        assert await provider.served.cloud.calls(SOLD) == (1, 0)
        await life.pass_time(40)
        assert life.order(TERMS).stage is Stage.FILLED
        assert await life.driver.target_size(GRPC_GROUP) == 10


async def test_t17_an_effect_that_is_not_the_order_is_reconciled_by_instance_ids(tmp_path: Path) -> None:
    """The call is lost, and another client grows the group by 3 meanwhile: nothing is resent, and only three nodes
    count for the order until its limit."""
    async with ordering(tmp_path, loseCall=True) as (life, provider):
        await life.runner.place(TERMS, Cause.first("place"))
        await life.runner.run_once()
        assert await provider.served.cloud.calls(SOLD) == (1, 0)
        await provider.served.cloud.increase(SOLD, 3, OrderTags(OrderId("another"), GangId(""), 0))
        await life.pass_time(70)
        assert life.order(TERMS).acknowledged
        assert len(life.order(TERMS).launched) == 3
        await life.pass_time(60)
        short = life.order(TERMS)
        assert short.stage is Stage.SHORT
        assert short.shortfall is not None
        assert short.shortfall.missing == 5
        assert await provider.served.cloud.calls(SOLD) == (2, 1)
        assert await life.driver.target_size(GRPC_GROUP) == 5


async def test_t18_what_failed_is_given_back_and_what_runs_stays_for_the_saga_to_decide(tmp_path: Path) -> None:
    async with ordering(tmp_path, stockoutAfter=6) as (life, provider):
        await life.place(TERMS)
        order = life.order(TERMS)
        assert order.stage is Stage.SHORT
        assert order.shortfall is not None
        assert (order.shortfall.kind, order.shortfall.missing) == (ShortfallClass.STOCKOUT, 2)
        assert len(order.served) == 6
        assert await life.driver.target_size(GRPC_GROUP) == 8
        await life.cancel(TERMS)
        assert await provider.left() == 0
        assert await life.driver.target_size(GRPC_GROUP) == 2


@pytest.mark.parametrize("quota", [0, 3])
async def test_a_quota_is_told_as_such(tmp_path: Path, quota: int) -> None:
    async with ordering(tmp_path, quota=quota) as (life, _):
        await life.place(TERMS)
        order = life.order(TERMS)
        assert order.shortfall is not None
        assert (order.shortfall.kind, len(order.served)) == (ShortfallClass.QUOTA, quota)


async def test_another_clients_nodes_do_not_become_ours(tmp_path: Path) -> None:
    async with ordering(tmp_path) as (life, provider):
        await provider.served.cloud.increase(SOLD, 2, OrderTags(OrderId("before"), GangId(""), 0))
        await life.place(terms_of(GRPC_GROUP, count=3))
        before = {each.node for each in await provider.served.cloud.instances(SOLD) if each.order == "before"}
        assert not before & set(life.order(terms_of(GRPC_GROUP, count=3)).nodes)
        await life.cancel(terms_of(GRPC_GROUP, count=3))
        assert await provider.left() == 2
