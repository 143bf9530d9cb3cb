"""One run: the world of a scenario, the services in it, and time until everything has come to an end."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster_cli.simulation import scheduler
from muster_cli.simulation.offers import Offer
from muster_cli.simulation.scheduler import SimulatedScheduler, View
from muster_decider import DomainError
from muster_eventstore import StoredMessage, TransientError
from muster_kube.parts import at, mapping, sequence, text
from muster_kube.readings import Json
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state import CloudState
from muster_provisioner.domain.messages import InstanceId
from muster_servicekit.errors import Invalid, NotFound
from muster_types import NodeGroupName, ObjectKey
from simulation import objects
from simulation.chance import Chance
from simulation.cloud import CloudObjects, MemoryState
from simulation.cluster import MemoryCluster
from simulation.faults import Faults, Kind
from simulation.lanes import Lane, current_name
from simulation.loop import SimLoop
from simulation.processes import NAMES, AllSettings, MemorySnapshots, Process, SimClock, World
from simulation.record import EPOCH, Record
from simulation.scenario import GangPlan, Scenario, Via
from simulation.store import WatchedServer


class StepwiseScheduler(SimulatedScheduler):
    """Binds one pod at a time, so that the world can change between two."""

    def __init__(self, cluster: MemoryCluster, forgotten: Collection[str]) -> None:
        self.directory = cluster
        self._view = View.empty()
        self._forgotten = forgotten

    def _create(self, offer: Offer, objects: Mapping[ObjectKey, Json]) -> bool:
        return offer.key.name.split("-")[0] not in self._forgotten and super()._create(offer, objects)

    async def follow(self, cluster: MemoryCluster, pause: Callable[[], float]) -> None:
        """For ever."""
        async for _ in cluster.follow(pause):
            while self.step():  # noqa: ASYNC110 -- a step is work, not a condition
                await asyncio.sleep(pause())

    def _bind_all(self, offer: Offer) -> bool:
        for key in sorted(self._view.manifests):
            pod = self._view.manifests[key].obj
            if scheduler.consumes(key, pod, offer) and not scheduler.is_settled(pod) and self._bind(offer, key, pod):
                return True
        return False


class System:
    """`watch` hears of every stored message after it was taken into `record`; `only`: the faults that may happen."""

    def __init__(
        self, scenario: Scenario, state: Path, only: Collection[str] | None = None, *, kind_network: bool = False
    ) -> None:
        self.scenario = scenario
        self.chance = Chance(scenario.seed)
        self._pauses = 0
        self.loop = SimLoop(scenario.seed, self._thread_pause)
        rates = scenario.rates
        if kind_network:
            rates = replace(rates, of={})
        self.faults = Faults(self.chance, rates, self.loop.time, scenario.faults_end, only)
        self.record = Record()
        self.watchers: list[Callable[[StoredMessage, str, Sequence[Any]], None]] = []
        self.cluster_watchers: list[Callable[[ObjectKey, Json | None, Json | None], None]] = []
        self.notes: list[tuple[float, str]] = []
        self.driver_calls: list[str] = []
        self.foreign: dict[str, int] = {}
        self.asking = 0  # calls of clients that are not answered yet
        self.calls: dict[str, pb.RequestCapacityRequest] = {}
        self.server = WatchedServer(self._server_now, self._stored)
        self.cluster = MemoryCluster(self._server_now, self._changed)
        self._cloud_state = MemoryState()
        clock = SimClock(self.loop)
        self.cloud = SimulatedCloud("local", scenario.seed, self._cloud_state, CloudObjects(self.cluster), clock)
        settings = AllSettings.generous(state) if scenario.benign else AllSettings.short(state)
        self.world = World(
            self.loop,
            self.server,
            self.cluster,
            self.cloud,
            Lane("cloud"),
            self.faults,
            settings,
            self.driver_calls.append,
            self.note,
        )
        self.processes = {
            name: Process(name, self.world, SimClock(self.loop), MemorySnapshots(name, self.faults)) for name in NAMES
        }
        self.people = Lane("people")
        self.kubelet = Lane("scheduler")

    # The world

    def start(self) -> None:
        """Fill the cluster and begin everything that runs by itself."""
        for obj in self._first_objects():
            self.cluster.put(obj)
        self.loop.spawn(self.world.cloud_lane, self.cloud.run())
        forgotten = {gang.name for gang in self.scenario.gangs if gang.forgotten}
        self.loop.spawn(self.kubelet, StepwiseScheduler(self.cluster, forgotten).follow(self.cluster, self._moment))
        self.loop.spawn(self.kubelet, self._collect_pods())
        for process in self.processes.values():
            process.boot()
        for gang in self.scenario.gangs:
            self.loop.spawn(self.people, self._ask(gang))

    def note(self, text: str) -> None:
        """A line for whoever reads the history."""
        self.notes.append((self.loop.time(), text))

    def take_incident(self, name: str) -> bool:
        """Whether an incident happens."""
        return self.faults.happens(Kind.INCIDENT, name)

    def known_gangs(self) -> list[str]:
        """Gangs that are recorded and not over."""
        return sorted(id for id, gang in self.record.gangs.items() if not gang.over)

    def cloud_state(self) -> CloudState:
        """The provider's own books."""
        return self._cloud_state.read()

    def change_cloud(self, act: Callable[[CloudState], CloudState]) -> None:
        """Somebody else acts at the provider."""
        self._cloud_state.change(lambda state: (act(state), None))

    def foreign_change(self, group: NodeGroupName | str, by: int) -> None:
        """Remember that somebody else changed a target size."""
        self.foreign[group] = self.foreign.get(group, 0) + by

    def take_machine(self, group: NodeGroupName, id: InstanceId) -> None:
        """The provider drops a machine; its objects go a moment later."""
        machine = self.cloud_state().groups[group].machines[id]

        def act(state: CloudState) -> CloudState:
            found = state.groups[group]
            return state.with_group(replace(found.without_machine(id), target=max(found.target - 1, 0)))

        self.change_cloud(act)
        for key in reversed(machine.objects):
            self.cluster.delete(key)
        self.cluster.delete(ObjectKey("Node", "", machine.node))
        for key in self._slices_of(machine.node):
            self.cluster.delete(key)

    def remove_node(self, name: str) -> None:
        """A node of the cluster goes, with its slices."""
        for key in self._slices_of(name):
            self.cluster.delete(key)
        self.cluster.delete(ObjectKey("Node", "", name))

    def bind_stranger(self, node: str, name: str) -> None:
        """Somebody else's pod runs on a node, with a device that is free there if there is one."""
        taken = self.allocated_devices()
        free = [
            (objects.GPU, node, text(device.get("name")))
            for key in self._slices_of(node)
            for device in map(mapping, sequence(at(self.cluster.get(key) or {}, "spec", "devices")))
            if text(at(self.cluster.get(key) or {}, "spec", "driver")) == objects.GPU
        ]
        device = next((each for each in free if each not in taken), None)
        self.note(f"a stranger's pod {name} runs on {node} with {device}")
        for obj in objects.foreign_pod(name, node, 1, device):
            self.cluster.put(obj)

    def allocated_devices(self) -> dict[tuple[str, str, str], ObjectKey]:
        """Every device that a claim of the cluster holds, with the claim."""
        held: dict[tuple[str, str, str], ObjectKey] = {}
        for key, manifest in self.cluster.objects.items():
            if key.kind == "ResourceClaim":
                for result in sequence(at(manifest.obj, "status", "allocation", "devices", "results")):
                    each = mapping(result)
                    held[text(each.get("driver")), text(each.get("pool")), text(each.get("device"))] = key
        return held

    def delete_pod(self, key: ObjectKey) -> None:
        """A pod goes, with the claims that were made for it."""
        for claim in [k for k in self.cluster.objects if k.kind == "ResourceClaim" and k.namespace == key.namespace]:
            reserved = sequence(at(self.cluster.get(claim) or {}, "status", "reservedFor"))
            if any(mapping(each).get("name") == key.name for each in reserved):
                self.cluster.delete(claim)
        self.cluster.delete(key)

    async def wait_event(self, name: str, nth: int) -> None:
        """Until the nth event of a type was stored."""
        waiter: asyncio.Future[None] = self.loop.create_future()
        seen = 0

        def hear(_: StoredMessage, __: str, events: Sequence[Any]) -> None:
            nonlocal seen
            seen += sum(event.DESCRIPTOR.name == name for event in events)
            if seen >= nth and not waiter.done():
                waiter.set_result(None)

        self.watchers.append(hear)
        await waiter

    async def patiently(self, method: str, request: object) -> object | None:
        """A client's call to the coordinator, repeated until it is answered; None when it is refused."""
        self.asking += 1
        try:
            return await self._repeated(method, request)
        finally:
            self.asking -= 1

    async def _repeated(self, method: str, request: object) -> object | None:
        for attempt in count():
            try:
                async with asyncio.timeout(5.0):
                    return await self.processes["gang-coordinator"].call(method, request)
            except (TransientError, TimeoutError):
                await asyncio.sleep(self.chance.between(0.2, 2.0, f"client {method} {attempt}"))
            except (DomainError, NotFound, Invalid) as error:
                self.note(f"{method} is refused: {error}")
                return None
        raise AssertionError("count() has no end")

    # Inside

    def _server_now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.loop.time())

    def _stored(self, message: StoredMessage) -> None:
        gang, events = self.record.apply(message)
        for watch in self.watchers:
            watch(message, gang, events)

    def _changed(self, key: ObjectKey, before: Json | None, after: Json | None) -> None:
        for watch in self.cluster_watchers:
            watch(key, before, after)

    def _thread_pause(self) -> float:
        self._pauses += 1
        return self.chance.around(0.001, f"thread|{current_name()}|{self._pauses}")

    def _moment(self) -> float:
        self._pauses += 1
        return self.chance.around(0.1, f"moment|{self._pauses}")

    def _slices_of(self, node: str) -> list[ObjectKey]:
        return [
            key
            for key, manifest in self.cluster.objects.items()
            if key.kind == "ResourceSlice" and text(at(manifest.obj, "spec", "nodeName")) == node
        ]

    def _first_objects(self) -> list[objects.Json]:
        found: list[objects.Json] = list(objects.device_classes())
        for node in self.scenario.nodes:
            found.append(objects.node(node.name, node.shape, {objects.RACK: node.rack}))
            found.extend(objects.node_slices(node.name, node.shape))
            for index in range(node.taken):
                device = (objects.GPU, node.name, f"gpu-{index}")
                found.extend(objects.foreign_pod(f"stranger-{node.name}-{index}", node.name, 1, device))
        for group in self.scenario.groups:
            found.append(objects.node_group(group.name, group.shape, group.most, group.price, group.rack, group.driver))
        return found

    async def _collect_pods(self) -> None:
        """Pods of nodes that are gone go too, as the cluster's garbage collector sees to it."""
        async for _ in self.cluster.follow(lambda: 1.0):
            gone = [
                key
                for key, manifest in self.cluster.objects.items()
                if key.kind == "Pod"
                and (node := text(at(manifest.obj, "spec", "nodeName")))
                and ObjectKey("Node", "", node) not in self.cluster.objects
            ]
            for key in gone:
                self.delete_pod(key)

    async def _ask(self, gang: GangPlan) -> None:
        await asyncio.sleep(gang.at)
        if not self.faults.happens(Kind.INCIDENT, f"gang {gang.name}"):
            return
        name = f"{gang.name}-{'check-1' if gang.owner else 'train'}"
        parts = [objects.claim_template(gang.name, gang.shape), objects.pod_template(gang.name, gang.shape, name)]
        sets = [(gang.name, gang.pods)]
        if gang.leader:
            parts.append(objects.pod_template(f"{gang.name}-lead", objects.PodShape(gpus=0, cpu=1), name))
            sets.insert(0, (f"{gang.name}-lead", 1))
        request = objects.request(name, sets, owner=gang.owner, valid=gang.valid)
        self.note(f"{gang.name} is asked for: {gang.pods} pods of {gang.shape}")
        if gang.via is Via.GRPC:
            call = pb.RequestCapacityRequest(
                request_id=f"request-{gang.name}",
                request_json=orjson.dumps(request),
                objects_json=[orjson.dumps(part) for part in parts],
            )
            self.calls[gang.name] = call
            await self.patiently("RequestCapacity", call)
            return
        if gang.parts_late:
            self.cluster.put(request)
            await asyncio.sleep(gang.parts_late)
        for part in parts:
            self.cluster.put(part)
        if not gang.parts_late:
            self.cluster.put(request)

    def close(self) -> None:
        """Let go of everything that is still pending."""
        with suppress(RuntimeError):
            self.loop.close()
