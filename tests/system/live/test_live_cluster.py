"""Everything as processes on a live cluster: the fake API server, all services, a cloud behind each driver."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from contract.driver.clusterapi import MACHINES, SIZED
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Json, KubeClient, Target, delete, get, list_pages, patch
from muster_types import ObjectKey
from support.nats_server import wait_until
from support.processes import DEADLINE, wait_for
from support.stories import bookings, promised_twice
from system.live import fleet
from system.live.fleet import CAPI, CAPI_NAMESPACE, GRPC, KARPENTER, THERE
from system.live.running import Live
from system.live.scheduler import Objects
from system.live.story import (
    BY_KIND,
    GANG,
    SCALE_DOWN,
    conditions,
    consumed,
    gang_of,
    holds_in,
    make,
    nodes_of,
    pods_of,
    request_key,
    wait_condition,
    wait_seen,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Up for all tests of this file; each asks for something of its own."""
    running = Live(tmp_path_factory.mktemp("live"))
    try:
        running.start()
        yield running
        wait_for(lambda: bookings(running.muster) == [], "the ledger holds nothing")
    finally:
        running.stop()
    assert running.muster.tracebacks() == []


async def test_a_gang_gets_a_node_that_is_there_and_one_of_the_served_cloud(live: Live) -> None:
    async with live.at_work() as client:
        await make(client, fleet.a_request(GRPC, "mixed"))
        objects = await consumed(live.server, client, "mixed")
    new = [text(at(node, "metadata", "name")) for node in nodes_of(objects, GRPC) if not _is_there(node)]
    assert len(new) == 1
    _check_new(live, objects, new)
    journal = live.server.journal()
    rules = [write for write in journal if write.plural == "devicetaintrules"]
    assert [(text(at(each.obj, "spec", "deviceSelector", "pool")), each.gone) for each in rules] == [
        (THERE, False),
        (THERE, False),
        (THERE, True),
        (THERE, True),
    ]
    gang = text(at(rules[0].obj, "spec", "taint", "value"))
    request = next(write.obj for write in reversed(journal) if write.name == "mixed" and "status" in write.obj)
    details = mapping(at(request, "status", "provisioningClassDetails"))
    assert details["muster.dev/reservation-taint"] == f"{GANG}={gang}:NoSchedule"
    assert details["muster.dev/nodes"] == ",".join(sorted([THERE, *new]))


@pytest.mark.parametrize("pool", [CAPI, KARPENTER])
async def test_a_gang_gets_nodes_through_the_objects_of_another_back_end(live: Live, pool: str) -> None:
    async with live.at_work() as client:
        await make(client, fleet.a_request(pool, f"by-{pool}"))
        objects = await consumed(live.server, client, f"by-{pool}")
    new = [text(at(node, "metadata", "name")) for node in nodes_of(objects, pool)]
    assert len(new) == 2
    _check_new(live, objects, new)


async def test_a_server_that_is_killed_then_compacts_and_cuts_every_second_changes_no_end(live: Live) -> None:
    pools = (GRPC, CAPI, KARPENTER)
    async with live.at_work() as client:
        await asyncio.gather(*(make(client, fleet.a_request(pool, f"{pool}-again")) for pool in pools))
        live.server.kill()
        live.server.start(unrest=1.0)
        await asyncio.gather(*(consumed(live.server, client, f"{pool}-again") for pool in pools))
        objects = await wait_seen(client, lambda objects: holds_in(objects) == [], "nothing is held any more")
    live.server.kill()
    live.server.start()
    assert promised_twice(objects) == []
    for pool in pools:
        gang = gang_of(objects, f"{pool}-again")
        made = {each.name for each in live.server.journal() if each.plural == "nodes" and _is_for(each.obj, gang)}
        used = {text(at(pod, "spec", "nodeName")) for pod in pods_of(objects, f"{pool}-again")}
        assert (len(made), made) == (2, used), "each order was sent once"


def _is_there(node: object) -> bool:
    return at(node, "metadata", "name") == THERE


def _is_for(node: object, gang: str) -> bool:
    return mapping(at(node, "metadata", "labels")).get(GANG) == gang


def _check_new(live: Live, objects: Objects, names: list[str]) -> None:
    """New nodes carried the reservation and were kept from scale-down until they were used; now they are plain."""
    for name in names:
        forms = [each.obj for each in live.server.journal() if each.plural == "nodes" and each.name == name]
        tainted = [any(mapping(t).get("key") == GANG for t in sequence(at(form, "spec", "taints"))) for form in forms]
        kept = [mapping(at(form, "metadata", "annotations")).get(SCALE_DOWN) == "true" for form in forms]
        assert (any(tainted), tainted[-1]) == (True, False)
        assert (any(kept), kept[-1]) == (True, False)
        slices = [
            obj for key, obj in objects.items() if key.kind == "ResourceSlice" and at(obj, "spec", "nodeName") == name
        ]
        assert len(slices) == 1


async def test_f22_a_person_deletes_a_node_after_the_offer_and_the_offer_is_repaired(live: Live) -> None:
    async with live.at_work(bind=False) as client:
        size = await _replicas(client)
        await make(client, fleet.a_request(CAPI, "offered"))
        objects = await wait_condition(client, "offered", "Provisioned", "CapacityIsProvisioned")
        gang = gang_of(objects, "offered")
        before = _offered_nodes(objects, "offered")
        first = _ordered_for(objects, gang)[0]
        await delete(client, Target(BY_KIND["Node"], "", first))

        def repaired(objects: Objects) -> bool:
            return bool(_offered_nodes(objects, "offered") - before)

        objects = await wait_seen(client, repaired, "another node is offered")
        assert len(before & _offered_nodes(objects, "offered")) == len(before) - 1, "the other member stays"
        assert set(conditions(objects[request_key("offered")])) == {"Accepted", "Provisioned"}, "nothing was revoked"
        await delete(client, Target(BY_KIND["ProvisioningRequest"], "ml", "offered"))
        await _wait_nothing_left(client, gang, size)


def _offered_nodes(objects: Objects, name: str) -> set[str]:
    details = mapping(at(objects[request_key(name)], "status", "provisioningClassDetails"))
    return set(text(details.get("muster.dev/nodes")).split(","))


async def test_f22_a_person_deletes_a_node_before_the_offer_and_another_takes_its_place(live: Live) -> None:
    joined: set[str] = set()
    more = asyncio.Event()

    def joins(machine: Json) -> bool:
        name = text(at(machine, "metadata", "name"))
        if more.is_set() or not joined:
            joined.add(name)
        return name in joined

    async with live.at_work(joins) as client:
        size = await _replicas(client)
        await make(client, fleet.a_request(CAPI, "arriving"))
        objects = await wait_seen(client, _one_arrived("arriving"), "one of two nodes has arrived")
        (lost,) = [f"node-{name}" for name in joined]
        await delete(client, Target(BY_KIND["Node"], "", lost))
        more.set()
        objects = await consumed(live.server, client, "arriving")
        used = {text(at(pod, "spec", "nodeName")) for pod in pods_of(objects, "arriving")}
        assert lost not in used
        await _wait_replicas(client, size + 2)


async def test_n2_5_kueue_deletes_the_request_while_nodes_come_and_everything_goes_back(live: Live) -> None:
    async with live.at_work(lambda _: False) as client:
        size = await _replicas(client)
        await make(client, fleet.a_request(CAPI, "evicted"))
        await wait_seen(client, _reason("evicted", "Provisioning"), "nodes are ordered")
        await _wait_replicas(client, size + 2)
        await delete(client, Target(BY_KIND["ProvisioningRequest"], "ml", "evicted"))
        await wait_seen(client, lambda objects: request_key("evicted") not in objects, "the request is gone")
        await _wait_replicas(client, size)
    last = conditions([w.obj for w in live.server.journal() if w.name == "evicted" and "status" in w.obj][-1])
    assert last["Failed"][:2] == ("True", "Cancelled"), "the finalizer gave time to record the end"


async def test_t17_the_autoscaler_lowers_the_target_and_the_order_is_not_sent_again(live: Live) -> None:
    lowered = asyncio.Event()
    before = len(live.server.journal())
    async with live.at_work(lambda _: lowered.is_set()) as client:
        size = await _replicas(client)
        await make(client, fleet.a_request(CAPI, "lowered"))
        await _wait_replicas(client, size + 2)
        scale = Target(SIZED["MachineDeployment"], CAPI_NAMESPACE, CAPI, "scale")
        await patch(client, scale, {"spec": {"replicas": size + 1}})
        await _wait_replicas(client, size + 1)
        lowered.set()
        objects = await wait_condition(client, "lowered", "Failed", "CapacityIsNotFound")
        await _wait_replicas(client, size)
    assert "group capi is left out" in conditions(objects[request_key("lowered")])["Failed"][2]
    written = [write.obj for write in live.server.journal()[before:] if write.plural == "machinedeployments"]
    assert {at(obj, "spec", "replicas") for obj in written} == {size + 2, size + 1, size}


async def test_a_pod_group_asks_for_its_capacity_and_its_pods_go_on_when_it_is_there(live: Live) -> None:
    async with live.at_work() as client:
        await make(client, fleet.a_group(CAPI, "grouped"))
        members = [ObjectKey("Pod", "ml", f"grouped-{index}") for index in range(2)]
        group = ObjectKey("PodGroup", "ml", "grouped")

        def all_run(objects: Objects) -> bool:
            return all(at(objects.get(key), "spec", "nodeName") for key in members)

        objects = await wait_seen(client, all_run, "every pod of the group has a node")
        consumed = "muster.dev/BookingExpired"
        objects = await wait_seen(
            client, lambda objects: consumed in conditions(objects[group]) and not holds_in(objects), "nothing is held"
        )
    shown = conditions(objects[group])
    assert shown["muster.dev/Provisioned"][:2] == ("True", "CapacityIsProvisioned")
    assert shown[consumed][:2] == ("True", "CapacityBookingConsumed")
    gates = [
        bool(at(w.obj, "spec", "schedulingGates")) for w in live.server.journal() if w.place == ("ml", "grouped-0")
    ]
    assert (gates[0], gates[-1]) == (True, False)


async def _replicas(client: KubeClient) -> int:
    found = await get(client, Target(SIZED["MachineDeployment"], CAPI_NAMESPACE, CAPI))
    size = at(found, "spec", "replicas")
    assert isinstance(size, int)
    return size


async def _wait_replicas(client: KubeClient, size: int) -> None:
    async def there() -> bool:
        machines = [each async for page in list_pages(client, MACHINES) for each in page.items]
        return await _replicas(client) == size == len(machines)

    await wait_until(there, f"{size} machines are wanted and there", DEADLINE)


async def _wait_nothing_left(client: KubeClient, gang: str, size: int) -> None:
    await wait_seen(
        client, lambda objects: not _ordered_for(objects, gang) and not holds_in(objects), f"{gang} is gone"
    )
    await _wait_replicas(client, size)


def _ordered_for(objects: Objects, gang: str) -> list[str]:
    label = "muster.dev/order"
    return sorted(
        key.name
        for key, obj in objects.items()
        if key.kind == "Node" and text(at(obj, "metadata", "labels", label)).startswith(f"{gang}-a")
    )


def _reason(name: str, reason: str) -> Callable[[Objects], bool]:
    nothing = ("", "", "")
    return lambda objects: conditions(objects.get(request_key(name))).get("Provisioned", nothing)[1] == reason


def _one_arrived(name: str) -> Callable[[Objects], bool]:
    nothing = ("", "", "")
    return lambda objects: (
        "1 of 2 nodes arrived" in conditions(objects.get(request_key(name))).get("Provisioned", nothing)[2]
    )
