"""Pods that use a gang's capacity, marked or not."""

from pathlib import Path
from typing import cast

import pytest

from integration.gang_coordinator.running import (
    a_claim_template,
    a_pod,
    a_request,
    a_template,
    a_world,
    running_coordinator,
)
from integration.gang_coordinator.running import a_plan as planned
from integration.gang_coordinator.test_cluster_requests import only_gang, put_and_show
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.type.v1.gang_pb2 import GANG_STATE_CONSUMED, GANG_STATE_READY, GangState
from muster_eventstore import JetStreamStore


def a_member(name: str, node: str, *, marked: bool) -> dict[str, object]:
    """A pod of the template, as its owner makes it."""
    template = cast("dict[str, dict[str, object]]", a_template()["template"])
    pod = a_pod(name, node)
    metadata = cast("dict[str, object]", pod["metadata"])
    annotations = metadata["annotations"] if marked else {}
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": {**template["spec"], "nodeName": node}}


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_t32_pods_of_a_merged_pod_set_without_annotation_count_where_the_capacity_is(
    store: JetStreamStore, streams_url: str, tmp_path: Path, *, elsewhere: bool
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        for obj, uid in ((a_request(count=2), "uid-1"), (a_template(), ""), (a_claim_template(), "")):
            await put_and_show(world, obj, uid)
        gang = (await only_gang(coordinator, GangState.GANG_STATE_PLANNING)).gang_id
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, planned(existing=("n1", "n2")))
        await world.wait_asked(claim_commands.ConfirmGang)
        await world.confirmed(gang, "n1", "n2")
        await coordinator.wait_state(gang, GANG_STATE_READY)
        await world.show(a_member("p1", "n9" if elsewhere else "n2", marked=False))
        await world.show(a_member("p0", "n1", marked=True))
        if elsewhere:
            await world.show(a_member("p2", "n2", marked=True))
        view = await coordinator.wait_state(gang, GANG_STATE_CONSUMED)
        assert view.bound_pods == 2
