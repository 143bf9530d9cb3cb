"""The resized objects and their Machines in an API server. Methods raise KubeError."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster_kubeapi import (
    Conflict,
    Json,
    KubeClient,
    Lacking,
    Missing,
    NotServed,
    Refused,
    Resource,
    Served,
    Target,
    Unreachable,
    Unsure,
    Wanted,
    discover,
    get,
    list_pages,
    patch,
    replace,
)
from muster_provisioner.adapters.clusterapi.group_settings import ClusterApiSettings
from muster_provisioner.adapters.clusterapi.machines import BY_US, Machine, Marks, Sized, read_machine
from muster_provisioner.adapters.kube_calls import at, text, whole
from muster_types import NodeGroupName

_VERSIONS = ("v1beta2", "v1beta1")
_PLURALS = {
    "Machine": "machines",
    "MachineDeployment": "machinedeployments",
    "MachineSet": "machinesets",
    "MachinePool": "machinepools",
    "Cluster": "clusters",
}


@dataclass(frozen=True, slots=True)
class Key:
    """Which object is resized."""

    settings: ClusterApiSettings
    name: str

    @classmethod
    def of(cls, settings: ClusterApiSettings, group: NodeGroupName) -> "Key":
        """Of a node group."""
        return cls(settings, settings.name or group)

    @property
    def marks(self) -> Marks:
        """Annotations and labels of its API group."""
        return Marks(self.settings.group)

    def __str__(self) -> str:
        return f"{self.settings.kind} {self.settings.namespace}/{self.name}"


class SizedStore:
    """Cluster API of one management cluster."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._resources: dict[tuple[str, str], Resource] = {}

    async def resource(self, group: str, kind: str) -> Resource:
        """A kind as it is served. Raises NotServed when the server has no version of it that is understood."""
        if (group, kind) not in self._resources:
            wanted = [Wanted(each, group, _VERSIONS, plural) for each, plural in _PLURALS.items()]
            found = await discover(self._client, wanted)
            for each, answer in found.items():
                if isinstance(answer, Served):
                    self._resources[group, each] = answer.resource
            match found[kind]:
                case Lacking() as lacking:
                    raise NotServed(404, "NotFound", lacking.reason)
                case Unsure(reason=reason):
                    raise Unreachable(reason)
                case Served():
                    pass
        return self._resources[group, kind]

    async def sized(self, key: Key) -> Sized:
        """The object with its replicas. Raises Refused (404) when it does not exist."""
        target = await self._target(key)
        body, scale = await get(self._client, target), await get(self._client, _scale(target))
        if body is None or scale is None:
            raise Refused(404, "NotFound", f"{key} does not exist")
        asked = at(scale, "spec").get("replicas")
        # Not set where its controller's defaults still have to decide; then it wants what it has.
        replicas = whole(asked) if isinstance(asked, int) else whole(at(scale, "status").get("replicas"))
        return Sized(body, key.marks, replicas, text(at(scale, "metadata").get("resourceVersion")))

    async def resize(self, key: Key, sized: Sized, replicas: int) -> bool:
        """Write absolute replicas over the version that was read; False: another writer was faster, nothing changed.

        Raises Unreachable when nobody knows whether it was written.
        """
        target = _scale(await self._target(key))
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": key.name, "namespace": key.settings.namespace, "resourceVersion": sized.version},
            "spec": {"replicas": replicas},
        }
        match await replace(self._client, target, scale):
            case Conflict():
                return False
            case Missing():
                raise Refused(404, "NotFound", f"{key} does not exist")
            case _:
                return True

    async def machines(self, key: Key, sized: Sized, now: datetime) -> Sequence[Machine]:
        """Its Machines, by name; none for a MachinePool whose provider makes none."""
        resource = await self.resource(key.settings.group, "Machine")
        stockout = timedelta(seconds=key.settings.stockout_seconds)
        found: dict[str, Machine] = {}
        async for page in list_pages(self._client, resource, label_selector=sized.selector(key.settings.kind)):
            if page.first:
                found.clear()
            for obj in page.items:
                if at(obj, "metadata").get("namespace") == key.settings.namespace:
                    machine = read_machine(obj, key.marks, now, stockout)
                    found[machine.name] = machine
        return [found[name] for name in sorted(found)]

    async def mark(self, key: Key, machine: Machine) -> None:
        """Ask that this machine goes first when there are fewer replicas; nothing happens when it is gone."""
        resource = await self.resource(key.settings.group, "Machine")
        target = Target(resource, key.settings.namespace, machine.name)
        await patch(self._client, target, {"metadata": {"annotations": {key.marks.delete_machine: BY_US}}})

    async def pause(self, key: Key, sized: Sized) -> str | None:
        """What keeps its controller from acting, as a sentence; None when nothing does."""
        if sized.paused:
            return f"{key} is paused, so nothing written to it has an effect; remove its annotation {key.marks.paused}"
        name = text(at(sized.body, "spec").get("clusterName"))
        if not name:
            return None
        resource = await self.resource(key.settings.group, "Cluster")
        cluster = await get(self._client, Target(resource, key.settings.namespace, name))
        if cluster is not None and at(cluster, "spec").get("paused") is True:
            return f"the Cluster {key.settings.namespace}/{name} of {key} is paused; unpause it"
        return None

    async def infrastructure(self, key: Key, sized: Sized) -> Json:
        """The infrastructure template of its machines; empty when there is none that may be read."""
        ref = at(sized.body, "spec", "template", "spec", "infrastructureRef")
        kind, name = text(ref.get("kind")), text(ref.get("name"))
        group, _, version = text(ref.get("apiVersion")).rpartition("/")
        group = text(ref.get("apiGroup")) or group
        if not kind or not name or not group:
            return {}
        versions = (version,) if version else _VERSIONS
        found = (await discover(self._client, [Wanted(kind, group, versions, f"{kind.lower()}s")]))[kind]
        if not isinstance(found, Served):
            return {}
        return await get(self._client, Target(found.resource, key.settings.namespace, name)) or {}

    async def _target(self, key: Key) -> Target:
        resource = await self.resource(key.settings.group, key.settings.kind)
        return Target(resource, key.settings.namespace, key.name)


def _scale(target: Target) -> Target:
    return Target(target.resource, target.namespace, target.name, "scale")
