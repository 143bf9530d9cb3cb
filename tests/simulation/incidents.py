"""What other people and machines do to the world while Muster works."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster_eventstore import TransientError
from muster_kube.parts import at, mapping, sequence, text
from muster_provisioner.adapters.simulated.state import CloudState, Machine, Phase
from muster_provisioner.domain.messages import InstanceId
from muster_types import NodeGroupName, NodeName, ObjectKey
from simulation import objects
from simulation.scenario import Incident
from simulation.system import System

Act = Callable[[System, Incident], Awaitable[None]]


async def play(system: System, incident: Incident) -> None:
    """Wait for its time, and let it happen unless it was taken out of the run or faults have ended."""
    if incident.after:
        await system.wait_event(incident.after, incident.nth)
    await asyncio.sleep(incident.at)
    if not system.faults.calm and system.take_incident(incident.name):
        await _ACTS[incident.what](system, incident)


def _pick(items: Sequence[str], draw: float) -> str | None:
    return items[int(draw * len(items))] if items else None


def _requests(system: System) -> list[str]:
    return [key.name for key in system.cluster.objects if key.kind == "ProvisioningRequest"]


def _nodes(system: System, *, ordered: bool | None = None) -> list[str]:
    found: list[str] = []
    for key, manifest in system.cluster.objects.items():
        if key.kind == "Node":
            labelled = bool(at(manifest.obj, "metadata", "labels", "muster.dev/order"))
            if ordered is None or labelled == ordered:
                found.append(key.name)
    return sorted(found)


async def delete_request(system: System, incident: Incident) -> None:
    """Somebody deletes a ProvisioningRequest (F23)."""
    name = _pick(_requests(system), incident.draw)
    if name:
        system.note(f"somebody deletes request {name}")
        system.cluster.delete(ObjectKey("ProvisioningRequest", objects.NAMESPACE, name))


async def cancel_call(system: System, incident: Incident) -> None:
    """Somebody cancels a gang over gRPC."""
    gang = _pick(system.known_gangs(), incident.draw)
    if gang:
        system.note(f"somebody cancels gang {gang}")
        request = pb.CancelGangRequest(gang_id=gang, request_id=f"cancel-{incident.draw}", cause="changed my mind")
        await system.patiently("CancelGang", request)


async def kill_machine(system: System, incident: Incident) -> None:
    """The provider takes a machine away (F22); its objects go with it, a little later."""
    state = system.cloud_state()
    machines = sorted(
        (group.name, machine.id)
        for group in state.groups.values()
        for machine in group.machines.values()
        if machine.order is not None and machine.phase is not Phase.DELETING
    )
    if machines:
        name, id = machines[int(incident.draw * len(machines))]
        system.note(f"the provider takes machine {id} away")
        system.foreign_change(name, -1)
        system.take_machine(name, id)


async def remove_node(system: System, incident: Incident) -> None:
    """A node of the cluster is taken out of service, with its slices."""
    name = _pick(_nodes(system, ordered=False), incident.draw)
    if name:
        system.note(f"node {name} is removed")
        system.remove_node(name)


async def node_unready(system: System, incident: Incident) -> None:
    """A node loses its heartbeat for a while."""
    name = _pick(_nodes(system), incident.draw)
    if name:
        await _for_a_while(system, incident, name, _unready)


async def cordon_node(system: System, incident: Incident) -> None:
    """Somebody cordons a node for a while."""
    name = _pick(_nodes(system), incident.draw)
    if name:
        await _for_a_while(system, incident, name, _cordoned)


def _unready(node: objects.Json, bad: bool) -> objects.Json:
    condition = {"type": "Ready", "status": "Unknown" if bad else "True"}
    return {**node, "status": {**mapping(node.get("status")), "conditions": [condition]}}


def _cordoned(node: objects.Json, bad: bool) -> objects.Json:
    return {**node, "spec": {**mapping(node.get("spec")), "unschedulable": bad}}


async def _for_a_while(
    system: System, incident: Incident, name: str, change: Callable[[objects.Json, bool], objects.Json]
) -> None:
    key = ObjectKey("Node", "", name)
    for bad in (True, False):
        node = system.cluster.get(key)
        if node is None:
            return
        system.note(f"node {name}: {incident.what} {'begins' if bad else 'ends'}")
        system.cluster.put(change(dict(node), bad))
        if bad:
            await asyncio.sleep(incident.lasting)


def _slices_of(system: System, node: str) -> list[ObjectKey]:
    return [
        key
        for key, manifest in system.cluster.objects.items()
        if key.kind == "ResourceSlice" and text(at(manifest.obj, "spec", "nodeName")) == node
    ]


async def drop_device(system: System, incident: Incident) -> None:
    """A driver restarts and publishes one device less, under a new generation (F17)."""
    await _republish(system, incident, lambda devices: devices[1:])


async def taint_device(system: System, incident: Incident) -> None:
    """A driver finds a device unhealthy (T49)."""
    taint = {"key": "health", "value": "bad", "effect": "NoSchedule"}
    await _republish(system, incident, lambda devices: [{**mapping(devices[0]), "taints": [taint]}, *devices[1:]])


async def _republish(
    system: System, incident: Incident, change: Callable[[Sequence[object]], Sequence[object]]
) -> None:
    nodes = [name for name in _nodes(system) if _slices_of(system, name)]
    name = _pick(nodes, incident.draw)
    if name is None:
        return
    system.note(f"a driver of node {name} publishes anew: {incident.what}")
    for key in _slices_of(system, name):
        slice = system.cluster.get(key)
        if slice is None:
            continue
        spec = dict(mapping(slice.get("spec")))
        pool = dict(mapping(spec.get("pool")))
        generation = pool.get("generation")
        pool["generation"] = (generation if isinstance(generation, int) else 1) + 1
        devices = sequence(spec.get("devices"))
        if devices and text(spec.get("driver")) == objects.GPU:
            spec["devices"] = list(change(devices))
        system.cluster.put({**slice, "spec": {**spec, "pool": pool}})
        await asyncio.sleep(0.1)  # between two slices the pool is incomplete


async def slice_vanishes(system: System, incident: Incident) -> None:
    """A driver is away for a while, and its slices with it."""
    name = _pick([name for name in _nodes(system) if _slices_of(system, name)], incident.draw)
    if name is None:
        return
    keys = _slices_of(system, name)
    kept = [system.cluster.get(key) for key in keys]
    system.note(f"the slices of node {name} vanish")
    for key in keys:
        system.cluster.delete(key)
    await asyncio.sleep(incident.lasting)
    if system.cluster.get(ObjectKey("Node", "", name)) is not None:
        system.note(f"the slices of node {name} are back")
        for obj in kept:
            if (
                obj is not None
                and system.cluster.get(ObjectKey("ResourceSlice", "", text(at(obj, "metadata", "name")))) is None
            ):
                system.cluster.put(obj)


async def foreign_pod(system: System, incident: Incident) -> None:
    """Somebody else's pod is bound to a node, with a device that the cluster shows as free (F5)."""
    name = _pick(_nodes(system, ordered=False), incident.draw)
    if name:
        system.bind_stranger(name, f"stranger-{int(incident.draw * 10000)}")


async def foreign_pod_leaves(system: System, incident: Incident) -> None:
    """Somebody else's pod ends, and its device is free."""
    pods = sorted(key.name for key in system.cluster.objects if key.kind == "Pod" and key.namespace == "other")
    name = _pick(pods, incident.draw)
    if name:
        system.note(f"pod other/{name} leaves")
        system.cluster.delete(ObjectKey("Pod", "other", name))
        system.cluster.delete(ObjectKey("ResourceClaim", "other", f"{name}-d"))


async def foreign_growth(system: System, incident: Incident) -> None:
    """Another writer raises the target size of a group; a machine of its own comes."""
    name = _pick(sorted(system.cloud_state().groups), incident.draw)
    if name:
        system.note(f"another writer adds a machine to group {name}")
        system.foreign_change(NodeGroupName(name), 1)
        id = InstanceId(f"simulated://local/{name}/foreign-{int(incident.draw * 10000)}")
        machine = Machine(id, NodeName(""), Phase.EXISTING)
        system.change_cloud(lambda state: _with_machine(state, NodeGroupName(name), machine))


def _with_machine(state: CloudState, name: NodeGroupName, machine: Machine) -> CloudState:
    group = state.groups[name]
    return state.with_group(replace(group.with_machine(machine), target=group.target + 1))


async def foreign_shrink(system: System, incident: Incident) -> None:
    """Another writer takes back size that nothing stands for yet."""
    state = system.cloud_state()
    open_groups = sorted(name for name, group in state.groups.items() if group.target > group.existing)
    name = _pick(open_groups, incident.draw)
    if name:
        system.note(f"another writer lowers the target of group {name}")
        system.foreign_change(NodeGroupName(name), -1)
        system.change_cloud(
            lambda state: state.with_group(
                replace(state.groups[NodeGroupName(name)], target=state.groups[NodeGroupName(name)].target - 1)
            )
        )


async def evict_pod(system: System, incident: Incident) -> None:
    """A pod of a gang is deleted (F21)."""
    pods = sorted(
        key.name for key in system.cluster.objects if key.kind == "Pod" and key.namespace == objects.NAMESPACE
    )
    name = _pick(pods, incident.draw)
    if name:
        system.note(f"pod {name} is evicted")
        system.delete_pod(ObjectKey("Pod", objects.NAMESPACE, name))


async def request_again(system: System, incident: Incident) -> None:
    """A request is deleted and made again under the same name."""
    name = _pick(_requests(system), incident.draw)
    if name is None:
        return
    key = ObjectKey("ProvisioningRequest", objects.NAMESPACE, name)
    obj = system.cluster.get(key)
    system.note(f"request {name} is deleted and made again")
    system.cluster.delete(key)
    await asyncio.sleep(incident.lasting / 10)
    if obj is not None and system.cluster.get(key) is None:
        fresh = {key: value for key, value in obj.items() if key != "status"}
        metadata = {k: v for k, v in mapping(obj.get("metadata")).items() if k not in ("uid", "resourceVersion")}
        system.cluster.put({**fresh, "metadata": metadata})


async def second_attempt(system: System, incident: Incident) -> None:
    """The queue submits the same workload again under the next attempt's name (F2, T27)."""
    name = _pick([name for name in _requests(system) if name.endswith("-1")], incident.draw)
    obj = None if name is None else system.cluster.get(ObjectKey("ProvisioningRequest", objects.NAMESPACE, name))
    if name is None or obj is None:
        return
    following = f"{name.removesuffix('1')}2"
    system.note(f"attempt {following} follows {name}")
    metadata = {k: v for k, v in mapping(obj.get("metadata")).items() if k not in ("uid", "resourceVersion")}
    fresh = {key: value for key, value in obj.items() if key != "status"}
    system.cluster.put({**fresh, "metadata": {**metadata, "name": following}})
    await asyncio.sleep(incident.lasting / 5)
    system.cluster.delete(ObjectKey("ProvisioningRequest", objects.NAMESPACE, name))


async def withdraw_group(system: System, incident: Incident) -> None:
    """A node group is withdrawn and declared again."""
    groups = sorted(key.name for key in system.cluster.objects if key.kind == "NodeGroup")
    name = _pick(groups, incident.draw)
    obj = None if name is None else system.cluster.get(ObjectKey("NodeGroup", "", name))
    if name is None or obj is None:
        return
    system.note(f"node group {name} is withdrawn")
    system.cluster.delete(ObjectKey("NodeGroup", "", name))
    await asyncio.sleep(incident.lasting)
    system.note(f"node group {name} is declared again")
    system.cluster.put(obj)


async def long_outage(system: System, incident: Incident) -> None:
    """A service is away for long."""
    names = sorted(system.processes)
    process = system.processes[names[int(incident.draw * len(names))]]
    process.crash("its machine is lost", incident.lasting)


async def restart_now(system: System, incident: Incident) -> None:
    """A service is killed at a telling moment and comes back at once."""
    names = sorted(system.processes)
    system.processes[names[int(incident.draw * len(names))]].crash("killed", 0.2)


async def double_call(system: System, incident: Incident) -> None:
    """A client sends its request again because it saw no answer."""
    name = _pick(sorted(system.calls), incident.draw)
    if name:
        system.note(f"the request for {name} is sent again")
        await system.patiently("RequestCapacity", system.calls[name])


async def clock_jump(system: System, incident: Incident) -> None:
    """The clock of a machine jumps."""
    names = sorted(system.processes)
    process = system.processes[names[int(incident.draw * len(names))]]
    by = incident.lasting if int(incident.draw * 1000) % 2 else -incident.lasting / 3
    system.note(f"the clock of {process.name} jumps by {by:+.1f} s")
    process.clock.ahead += by


async def template_edited(system: System, incident: Incident) -> None:
    """Somebody edits a pod template after the request was accepted (T3)."""
    templates = sorted(key.name for key in system.cluster.objects if key.kind == "PodTemplate")
    name = _pick(templates, incident.draw)
    obj = None if name is None else system.cluster.get(ObjectKey("PodTemplate", objects.NAMESPACE, name))
    if name and obj is not None:
        system.note(f"pod template {name} is edited")
        metadata = mapping(obj.get("metadata"))
        system.cluster.put({**obj, "metadata": {**metadata, "labels": {"edited": "yes"}}})


_ACTS: dict[str, Act] = {
    act.__name__: act
    for act in (
        delete_request,
        cancel_call,
        kill_machine,
        remove_node,
        node_unready,
        cordon_node,
        drop_device,
        taint_device,
        slice_vanishes,
        foreign_pod,
        foreign_pod_leaves,
        foreign_growth,
        foreign_shrink,
        evict_pod,
        request_again,
        second_attempt,
        withdraw_group,
        long_outage,
        restart_now,
        double_call,
        clock_jump,
        template_edited,
    )
}
__all__ = ["TransientError", "play"]
