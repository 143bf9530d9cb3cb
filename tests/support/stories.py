"""The stories of the examples against running services: asks, waits for the end, and looks whether all is well."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc

from muster.api.capacity.v1 import capacity_service_pb2 as capacity_pb
from muster.api.capacity.v1.capacity_service_pb2_grpc import CapacityServiceStub
from muster.api.matcher.v1 import matcher_service_pb2 as matcher_pb
from muster.api.matcher.v1.matcher_service_pb2_grpc import MatcherServiceStub
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_cli.commands.request import ask
from muster_cli.live.addresses import Addresses
from muster_cli.live.replay import compare, replay_all
from muster_cli.offline.dumps import read_dump
from muster_eventstore import EventStore, list_parked
from muster_kube import ClusterDirectory
from muster_kube.parts import at, mapping, sequence, text
from muster_provisioner.adapters.simulated.state import Phase
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_types import ObjectKey
from support.deployment import EXAMPLES
from support.nats_server import wait_until
from support.processes import DEADLINE, MusterProcesses
from support.recorded import Moment, all_handled, of_type, wait_moment

CLUSTER = "local"
STORY_1, STORY_2 = EXAMPLES / "story-1", EXAMPLES / "story-2"
CONSUMED = Moment("the gang is consumed", "gangs", "GangConsumed")
LEDGER_CLEAR = Moment("the booking is released", "gangs", "BookingReleaseRecorded")
ENDED = Moment("the gang has ended", "gangs", "GangEnded")
Json = Mapping[str, object]


def request(muster: MusterProcesses, story: Path = STORY_1) -> str:
    """Ask as `muster request` does; the gang's id."""
    with grpc.insecure_channel(muster.services["gang-coordinator"].address) as channel:
        return ask(CapacityServiceStub(channel), CLUSTER, read_dump([str(story)]))


def cancel(muster: MusterProcesses, gang: str) -> None:
    """Ask to give everything back."""
    with grpc.insecure_channel(muster.services["gang-coordinator"].address) as channel:
        wanted = capacity_pb.CancelGangRequest(cluster=CLUSTER, gang_id=gang, request_id="by-hand", cause="by hand")
        CapacityServiceStub(channel).CancelGang(wanted, timeout=30)


def gang_view(muster: MusterProcesses, gang: str, min_sequence: int = 0) -> capacity_pb.GangView:
    """The gang as the coordinator tells it."""
    with grpc.insecure_channel(muster.services["gang-coordinator"].address) as channel:
        wanted = capacity_pb.GetGangRequest(cluster=CLUSTER, gang_id=gang, min_sequence=min_sequence)
        return CapacityServiceStub(channel).GetGang(wanted, timeout=30).gang


def bookings(muster: MusterProcesses) -> list[str]:
    """Gangs that the ledger holds something for."""
    with grpc.insecure_channel(muster.services["claim-matcher"].address) as channel:
        answer = MatcherServiceStub(channel).ListBookings(matcher_pb.ListBookingsRequest(cluster=CLUSTER), timeout=30)
        return [booking.gang_id for booking in answer.bookings]


def objects(muster: MusterProcesses) -> Mapping[ObjectKey, Json]:
    """What the cluster shows: the dump, and above it what Muster and the simulated cluster wrote."""
    listing = ClusterDirectory((muster.load,), muster.state / "cluster").list()
    return {key: manifest.obj for key, manifest in listing.objects.items()}


async def wait_consumed(store: EventStore) -> None:
    """Until the gang is consumed and everything that follows from it was done."""
    await wait_moment(store, CONSUMED)
    await wait_moment(store, LEDGER_CLEAR)
    await wait_until(lambda: all_handled(store), "no command is left", DEADLINE)


async def wait_cancelled(store: EventStore) -> None:
    """Until the gang has ended without capacity and nothing is left to do."""
    await wait_moment(store, ENDED)
    await wait_until(lambda: all_handled(store), "no command is left", DEADLINE)


async def check_story_1(muster: MusterProcesses, store: EventStore, gang: str) -> None:
    """The end of story 1 as it is without any fault; AssertionError names what is different."""
    view = await _consumed(muster, store, gang, pods=4)
    assert view.attempt == 1
    found = [(order.count, order.state, len(order.nodes)) for order in view.orders]
    assert found == [(2, "filled", 2)], f"{found} of {view.orders}"
    await _check_orders(muster, store, [list(view.orders[0].nodes)])
    shown = objects(muster)
    assert sorted(nodes_of(shown, gang)) == sorted(view.orders[0].nodes)
    _check_pods(shown)
    assert _conditions(shown, "finetune-70b").get("Provisioned") == "True"
    await check_nothing_left(muster, store)


async def check_story_2(muster: MusterProcesses, store: EventStore, gang: str) -> None:
    """The end of story 2: the one node of the group that ran short is kept, the other group brought two."""
    view = await _consumed(muster, store, gang, pods=3)
    assert view.attempt == 2
    assert [(order.state, len(order.nodes)) for order in view.orders] == [("short", 1), ("filled", 2)]
    nodes = [list(order.nodes) for order in view.orders]
    await _check_orders(muster, store, nodes)
    shown = objects(muster)
    placed = sorted(placement.node for placement in view.placements)
    assert sorted(nodes_of(shown, gang)) == sorted(nodes[0] + nodes[1]) == placed
    assert _conditions(shown, "pretrain-405b").get("Provisioned") == "True"
    await check_nothing_left(muster, store)


async def check_cancelled(muster: MusterProcesses, store: EventStore, gang: str) -> None:
    """Nothing of a cancelled gang is left: no node, no machine, no slice, no booking, no target."""
    view = gang_view(muster, gang, (await store.state("gangs")).last_sequence)
    assert view.state == GangState.GANG_STATE_CANCELLED, view
    intended = await of_type(store, "provisioning", provisioning_pb2.OrderIntended)
    cancelled = await of_type(store, "provisioning", provisioning_pb2.OrderCancelled)
    assert len(intended) == len(cancelled) == 1
    assert cancelled[0].target == intended[0].baseline_target, "the target size is back where it was"
    cloud = Cloud.read(muster.state)
    assert cloud.calls == {intended[0].order_id: 1}, "the driver was called once"
    assert cloud.machines == {}
    shown = objects(muster)
    assert nodes_of(shown, gang) == []
    launched = {event.node for event in await of_type(store, "provisioning", provisioning_pb2.NodeLaunched)}
    assert [place for place in attributes(shown).values() if place["node"] in launched] == []
    assert _conditions(shown, "finetune-70b").get("Provisioned") != "True"
    await check_nothing_left(muster, store)


async def check_replay(muster: MusterProcesses, store: EventStore) -> None:
    """What `muster events --replay --compare` does: the events alone give what the services hold, byte for byte."""
    states = await replay_all(store, CLUSTER)
    verdicts = await asyncio.to_thread(compare, Addresses(muster.state), CLUSTER, states)
    assert [(name, verdict.difference) for name, verdict in verdicts.items() if not verdict.same] == []


async def check_nothing_left(muster: MusterProcesses, store: EventStore) -> None:
    """At the end of any story nothing is parked, booked or reserved, no device is given twice, no log shows a bug."""
    assert [(parked.original.subject, parked.reason) for parked in await list_parked(store)] == []
    assert bookings(muster) == []
    shown = objects(muster)
    assert reserved(shown) == {}
    assert promised_twice(shown) == []
    assert muster.tracebacks() == []


async def _consumed(muster: MusterProcesses, store: EventStore, gang: str, *, pods: int) -> capacity_pb.GangView:
    view = gang_view(muster, gang, (await store.state("gangs")).last_sequence)
    assert view.state == GangState.GANG_STATE_CONSUMED, view
    assert (view.pod_count, view.bound_pods, len(view.placements)) == (pods, pods, pods)
    return view


async def _check_orders(muster: MusterProcesses, store: EventStore, nodes: Sequence[Sequence[str]]) -> None:
    """Each order was recorded once, reached the driver once, and brought the nodes that the gang tells."""
    intended = [event.order_id for event in await of_type(store, "provisioning", provisioning_pb2.OrderIntended)]
    launched = await of_type(store, "provisioning", provisioning_pb2.NodeLaunched)
    assert len(set(intended)) == len(intended) == len(nodes)
    assert sorted(event.node for event in launched) == sorted(node for each in nodes for node in each)
    cloud = Cloud.read(muster.state)
    assert cloud.calls == dict.fromkeys(intended, 1), "the driver was called once for each order"
    assert {order: sorted(cloud.machines[order]) for order in intended} == {
        order: sorted(each) for order, each in zip(intended, nodes, strict=True)
    }


def _conditions(shown: Mapping[ObjectKey, Json], name: str) -> dict[str, str]:
    status = at(shown[ObjectKey("ProvisioningRequest", "team-llm", name)], "status", "conditions")
    return {text(each.get("type")): text(each.get("status")) for each in map(mapping, sequence(status))}


def _check_pods(shown: Mapping[ObjectKey, Json]) -> None:
    """Every pod runs where its claim is allocated, on four GPUs of one NUMA node and a NIC beside one of them."""
    pods = {key.name: pod for key, pod in shown.items() if key.kind == "Pod" and key.name.startswith("finetune-70b-")}
    assert len(pods) == 4
    places = attributes(shown)
    for name, pod in pods.items():
        claim = shown[ObjectKey("ResourceClaim", "team-llm", f"{name}-devices")]
        results = sequence(at(claim, "status", "allocation", "devices", "results"))
        found = [_device(mapping(result)) for result in results]
        gpus = [places[device] for device in found if device[0] == "gpu.nvidia.com"]
        nics = [places[device] for device in found if device[0] == "dra.net"]
        assert (len(gpus), len(nics)) == (4, 1), found
        assert len({gpu["resource.kubernetes.io/numaNode"] for gpu in gpus}) == 1, found
        assert nics[0]["resource.kubernetes.io/pcieRoot"] in {gpu["resource.kubernetes.io/pcieRoot"] for gpu in gpus}
        assert {gpu["node"] for gpu in (*gpus, *nics)} == {at(pod, "spec", "nodeName")}


def _device(result: Json) -> tuple[str, str, str]:
    return text(result.get("driver")), text(result.get("pool")), text(result.get("device"))


def attributes(shown: Mapping[ObjectKey, Json]) -> dict[tuple[str, str, str], dict[str, object]]:
    """Attribute values of every device that a slice shows, and its `node`."""
    found: dict[tuple[str, str, str], dict[str, object]] = {}
    for key, slice in shown.items():
        if key.kind != "ResourceSlice":
            continue
        driver, pool = text(at(slice, "spec", "driver")), text(at(slice, "spec", "pool", "name"))
        for device in map(mapping, sequence(at(slice, "spec", "devices"))):
            values = {
                name: next(iter(mapping(value).values()), None)
                for name, value in mapping(device.get("attributes")).items()
            }
            found[driver, pool, text(device.get("name"))] = {**values, "node": at(slice, "spec", "nodeName")}
    return found


def nodes_of(shown: Mapping[ObjectKey, Json], gang: str) -> list[str]:
    """Nodes that were ordered for a gang and are still there."""
    return [
        key.name
        for key, node in shown.items()
        if key.kind == "Node" and at(node, "metadata", "labels", "muster.dev/gang") == gang
    ]


def reserved(shown: Mapping[ObjectKey, Json]) -> dict[str, str]:
    """Nodes that still carry a gang's reservation taint."""
    return {
        key.name: text(taint.get("value"))
        for key, node in shown.items()
        if key.kind == "Node"
        for taint in map(mapping, sequence(at(node, "spec", "taints")))
        if taint.get("key") == "muster.dev/gang"
    }


def promised_twice(shown: Mapping[ObjectKey, Json]) -> list[tuple[str, str, str]]:
    """Devices that more than one claim has."""
    held = Counter(
        _device(mapping(result))
        for key, claim in shown.items()
        if key.kind == "ResourceClaim"
        for result in sequence(at(claim, "status", "allocation", "devices", "results"))
        if not mapping(result).get("adminAccess") and not mapping(result).get("shareID")
    )
    return sorted(device for device, count in held.items() if count > 1)


@dataclass(frozen=True, slots=True)
class Cloud:
    """The simulated cloud's own account: how often each order was called, its machines that are there, and how far
    they have come."""

    calls: Mapping[str, int]
    machines: Mapping[str, list[str]]
    phases: tuple[Phase, ...]

    @classmethod
    def read(cls, state: Path) -> "Cloud":
        """From the state directory."""
        groups = StateFile(state / "cloud" / f"{CLUSTER}.json").read().groups.values()
        calls = {str(order): count for group in groups for order, count in group.calls.items()}
        ours = [
            machine
            for group in groups
            for machine in group.machines.values()
            if machine.order is not None and machine.phase is not Phase.DELETING
        ]
        machines: dict[str, list[str]] = {}
        for machine in ours:
            machines.setdefault(str(machine.order), []).append(machine.node)
        return cls(calls, machines, tuple(machine.phase for machine in ours))

    def complete(self) -> bool:
        """Whether anything was ordered, and all of it has booted and shows its devices."""
        return bool(self.phases) and set(self.phases) == {Phase.COMPLETE}
