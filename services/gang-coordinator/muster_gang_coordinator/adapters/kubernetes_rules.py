"""DeviceTaintRules that keep booked devices of existing nodes for their gang (KEP-5055, dra-semantics §1.13)."""

from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256

from muster_gang_coordinator.adapters.kubernetes_calls import RULE, ClusterApi, each_of
from muster_gang_coordinator.domain.details import GANG_LABEL
from muster_gang_coordinator.wire.manifests import Unreadable, read_json
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Conflict, Json, Target, create, delete, list_pages
from muster_types import DeviceId, GangId

_CLAIMS = {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}


async def held_devices(api: ClusterApi) -> Mapping[GangId, frozenset[DeviceId]]:
    """Which devices are kept for which gangs, as the cluster has it. Raises KubeError."""
    resource = await api.resource(RULE)
    found: dict[GangId, set[DeviceId]] = {}
    if resource is None:
        return {}
    async for page in list_pages(api.client, resource, label_selector=GANG_LABEL):
        if page.first:
            found.clear()
        for rule in page.items:
            gang = text(mapping(at(rule, "metadata", "labels")).get(GANG_LABEL))
            selector = mapping(at(rule, "spec", "deviceSelector"))
            device = DeviceId(*(text(selector.get(part)) for part in ("driver", "pool", "device")))
            found.setdefault(GangId(gang), set()).add(device)
    return {gang: frozenset(devices) for gang, devices in sorted(found.items())}


async def keep_devices(api: ClusterApi, gang: GangId, devices: Collection[DeviceId]) -> None:
    """One rule for each device, unless it is there; nothing where the cluster has no such rules. Raises KubeError."""
    resource = await api.resource(RULE)
    if resource is None:
        return

    async def make(device: DeviceId) -> None:
        # A conflict says that the rule is there: its name stands for gang and device.
        _: Json | Conflict = await create(api.client, resource, "", a_rule(gang, device))

    await each_of(sorted(devices), make)


async def free_devices(api: ClusterApi, gang: GangId, devices: Collection[DeviceId]) -> None:
    """Take the rules away. Raises KubeError."""
    resource = await api.resource(RULE)
    if resource is None:
        return

    async def take(device: DeviceId) -> None:
        await delete(api.client, Target(resource, "", rule_name(gang, device)))

    await each_of(sorted(devices), take)


def rule_name(gang: GangId, device: DeviceId) -> str:
    """The same for the same gang and device, whoever asks."""
    return f"muster-{gang}-{sha256(str(device).encode()).hexdigest()[:12]}"


def a_rule(gang: GangId, device: DeviceId) -> Json:
    """A taint with the key, value and effect of the gang's reservation of nodes, on this device alone."""
    return {
        "metadata": {
            "name": rule_name(gang, device),
            "labels": {GANG_LABEL: gang, "app.kubernetes.io/managed-by": "muster"},
        },
        "spec": {
            "deviceSelector": {"driver": device.driver, "pool": device.pool, "device": device.device},
            "taint": {"key": GANG_LABEL, "value": gang, "effect": "NoSchedule"},
        },
    }


def tolerates_rules(gang: GangId, objects_json: Iterable[bytes]) -> bool:
    """Whether every device request of the gang's claims may use a device with its rule's taint: a rule that the gang
    does not tolerate would keep the gang itself away. Without any claim there is nothing to keep."""
    requests = [request for data in objects_json for request in _device_requests(data)]
    return bool(requests) and all(_tolerates(gang, request) for request in requests)


def _device_requests(data: bytes) -> list[Json]:
    obj = read_json(data)
    path = () if isinstance(obj, Unreadable) else _CLAIMS.get(text(obj.get("kind")), ())
    if not path:
        return []
    found: list[Json] = []
    for each in map(mapping, sequence(at(obj, *path, "devices", "requests"))):
        alternatives = [mapping(one) for one in sequence(each.get("firstAvailable"))]
        found += alternatives or [mapping(each.get("exactly")) or each]  # v1beta1 has it flat
    return found


def _tolerates(gang: GangId, request: Json) -> bool:
    return any(
        text(each.get("effect")) in ("", "NoSchedule")
        and text(each.get("key")) in ("", GANG_LABEL)
        and (
            each.get("operator") == "Exists"
            or (text(each.get("operator")) in ("", "Equal") and each.get("value") == gang)
        )
        for each in map(mapping, sequence(request.get("tolerations")))
    )
