"""Use of each node's devices: what of it is real work, and which nodes are idle."""

from dataclasses import dataclass

from muster_audit.parts import Json, part, parts, text
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.words import Word
from muster_dra import AllocatedDevice
from muster_types import DeviceId, NodeName, ObjectKey

_OWNER = "input.example.com/owner"
_PER_NODE = frozenset({"DaemonSet", "Node"})
"""Owners whose pods come with the node: daemon sets, and the node itself for static pods."""


@dataclass(frozen=True, slots=True)
class Use:
    """Devices of one node by driver: held by work, held by pods that come with it, and all. `work` counts pods."""

    node: NodeName
    by_driver: tuple[tuple[str, int, int, int], ...]
    work: int

    @property
    def idle(self) -> bool:
        """Whether only pods that come with the node are on it."""
        return self.work == 0 and all(worked == 0 for _, worked, _, _ in self.by_driver)

    def sentence(self) -> str:
        told: list[str] = []
        for driver, worked, daemons, total in self.by_driver:
            if daemons and not worked:
                told.append(f"{driver} {daemons} of {total} held by a daemon pod")
            else:
                told.append(f"{driver} {worked} of {total} in use")
        return "; ".join(told) or "no devices"


def uses_of(scene: Scene) -> dict[str, Use]:
    """By node, for nodes that publish devices of their own. Admin access takes nothing."""
    snapshot, frame = scene.snapshot, scene.cluster.frame
    daemons = {
        key for pods in snapshot.pods_by_node.values() for key in pods if comes_with_node(frame.objects.get(key, {}))
    }
    held: dict[DeviceId, bool] = {}
    for claim in snapshot.tables.claims.values():
        users = [ObjectKey("Pod", claim.namespace, each.name) for each in claim.reserved_for if each.resource == "pods"]
        by_daemon = bool(users) and all(each in daemons for each in users)
        for device in claim.allocation.devices if claim.allocation is not None else ():
            _note(held, device, by_daemon=by_daemon)
    counts: dict[tuple[NodeName, str], list[int]] = {}
    for id_ in scene.published.devices:
        node = scene.published.node_of(id_)
        if node:
            count = counts.setdefault((node, id_.driver), [0, 0, 0])
            count[2] += 1
            if id_ in held:
                count[1 if held[id_] else 0] += 1
    by_node: dict[NodeName, list[tuple[str, int, int, int]]] = {}
    for (node, driver), (worked, by_daemon, total) in counts.items():
        by_node.setdefault(node, []).append((driver, worked, by_daemon, total))
    found: dict[str, Use] = {}
    for node in sorted(by_node):
        if snapshot.node(node) is not None:
            work = sum(1 for key in snapshot.pods_by_node.get(node, {}) if key not in daemons)
            found[node] = Use(node, tuple(sorted(by_node[node], key=lambda each: (each[0] != "", each[0]))), work)
    return found


def _note(held: dict[DeviceId, bool], device: AllocatedDevice, *, by_daemon: bool) -> None:
    if not device.admin_access:
        held[device.device] = held.get(device.device, True) and by_daemon


def comes_with_node(pod: Json) -> bool:
    """Whether a pod is there because the node is: of a daemon set, or static."""
    metadata = part(pod, "metadata")
    owners = {text(each.get("kind")) for each in parts(metadata, "ownerReferences")}
    owners.add(text(part(metadata, "annotations").get(_OWNER)))
    mirror = "kubernetes.io/config.mirror" in part(metadata, "annotations")
    return mirror or bool(owners & _PER_NODE)


def node_rows(uses: dict[str, Use]) -> list[Row]:
    """A row for each node with devices: idle, or how much is in use."""
    return [
        Row(
            f"Node/{use.node}",
            Word.IDLE if use.idle else Word.USAGE,
            node=use.node,
            why=use.sentence(),
        )
        for use in uses.values()
    ]
