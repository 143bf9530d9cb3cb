"""A template that promised too much costs one node, and an offered gang whose node goes is repaired."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_eventstore import JetStreamStore
from muster_kube import ClusterDirectory
from muster_types import ObjectKey
from support import stories
from support.nats_server import wait_until
from support.processes import DEADLINE, SERVICES, MusterProcesses
from support.recorded import Moment, of_type, wait_moment

pytestmark = pytest.mark.slow

READY = Moment("the gang is offered", "gangs", "GangReadied")
ENDED = Moment("the gang has ended", "gangs", "GangEnded")
SECOND_OFFER = Moment(
    "the gang is offered again", "gangs", "GangReadied", lambda event: getattr(event, "attempt", 0) > 1
)


def other_numa_layout(groups: str) -> str:
    """Nobody answers for h100-b, and its first order brings six GPUs on one side and two on the other."""
    head, _, tail = groups.partition("  name: h100-b\n")
    _, _, spec = tail.partition("spec:")
    numa = "resource.kubernetes.io/numaNode"
    wrong = "".join(f"        - {{device: gpu-{n}, attribute: {numa}, value: {n // 6}}}\n" for n in range(8))
    script = f"    script:\n    - order: 1\n      wrongShape:\n        set:\n{wrong}"
    spec = spec.replace("    type: simulated\n", f"    type: simulated\n{script}", 1)
    return f"{head}  name: h100-b\nspec:{spec}"


def as_declared(groups: str) -> str:
    """The fleet of the examples."""
    return groups


@pytest.fixture
def muster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MusterProcesses]:
    """The services on the example fleet with changed node groups, and no scheduler that would bind the pods."""
    change: Callable[[str], str] = getattr(request, "param", as_declared)
    fleet = tmp_path / "fleet"
    shutil.copytree(stories.EXAMPLES / "fleet", fleet)
    groups = fleet / "nodegroups.yaml"
    groups.write_text(change(groups.read_text()))
    running = MusterProcesses(tmp_path, load=fleet, settings={"MUSTER_UNREADY_GRACE": "0.2"})
    try:
        yield running.start(SERVICES)
    finally:
        running.stop()


@pytest.mark.parametrize("muster", [other_numa_layout], indirect=True, ids=["other-numa-layout"])
async def test_nodes_with_another_numa_layout_than_promised_cost_at_most_one_node(
    muster: MusterProcesses, muster_store: JetStreamStore
) -> None:
    gang = stories.request(muster)
    await wait_moment(muster_store, ENDED)
    launched = await of_type(muster_store, "provisioning", provisioning_pb2.NodeLaunched)
    assert len(launched) == 1, "one node was tried, no more"
    (wrong,) = await of_type(muster_store, "inventory", inventory_pb2.TemplateMistrusted)
    assert {each.check for each in wrong.mismatches} <= {"C2", "C3", "C5"}
    view = stories.gang_view(muster, gang, (await muster_store.state("gangs")).last_sequence)
    assert view.state == GangState.GANG_STATE_FAILED
    assert "h100-b" in view.message
    assert "another shape than the template promised" in view.message
    assert stories.nodes_of(stories.objects(muster), gang) == [], "and that one went back"
    await stories.check_nothing_left(muster, muster_store)


async def test_an_offered_gang_whose_node_goes_gets_another_one_and_nobody_else_moves(
    muster: MusterProcesses, muster_store: JetStreamStore
) -> None:
    gang = stories.request(muster)
    await wait_moment(muster_store, READY)
    before = stories.gang_view(muster, gang, (await muster_store.state("gangs")).last_sequence)
    lost = before.orders[0].nodes[0]
    ClusterDirectory((muster.load,), muster.state / "cluster").delete(ObjectKey("Node", "", lost))
    await wait_moment(muster_store, SECOND_OFFER)
    await _check_repaired(muster, muster_store, gang, lost, {p.index: p.node for p in before.placements})


async def test_an_offered_gang_whose_node_stays_not_ready_is_repaired_and_the_node_goes_back(
    muster: MusterProcesses, muster_store: JetStreamStore
) -> None:
    gang = stories.request(muster)
    await wait_moment(muster_store, READY)
    before = stories.gang_view(muster, gang, (await muster_store.state("gangs")).last_sequence)
    lost = before.orders[0].nodes[0]
    directory = ClusterDirectory((muster.load,), muster.state / "cluster")
    quiet = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    directory.patch_status(ObjectKey("Node", "", lost), {"conditions": [quiet]})
    await wait_moment(muster_store, SECOND_OFFER)
    assert len(await of_type(muster_store, "gangs", gangs_pb2.MemberNodeUnreadied)) == 1
    await _check_repaired(muster, muster_store, gang, lost, {p.index: p.node for p in before.placements})

    async def gone() -> bool:
        return lost not in stories.nodes_of(stories.objects(muster), gang)

    await wait_until(gone, "the node that was given up is deleted", DEADLINE)


async def _check_repaired(
    muster: MusterProcesses, store: JetStreamStore, gang: str, lost: str, before: dict[int, str]
) -> None:
    view = stories.gang_view(muster, gang, (await store.state("gangs")).last_sequence)
    assert view.state == GangState.GANG_STATE_READY
    after = {p.index: p.node for p in view.placements}
    assert [index for index in before if after[index] != before[index]] == [i for i, n in before.items() if n == lost]
    assert sum(order.count for order in view.orders) == 3, "two nodes, and one for the one that was lost"
    stories.cancel(muster, gang)
    await wait_moment(store, ENDED)
    assert stories.nodes_of(stories.objects(muster), gang) == []
    assert muster.tracebacks() == []
