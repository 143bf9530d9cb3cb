"""A request in a live cluster from its creation to its end, and what the journal of the API server says of the way."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from muster_cli.simulation.offers import consumed_request
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Json, KubeClient, KubeError, Resource, Target, create, get, patch
from muster_types import ObjectKey
from support.kube_api.journal import Write
from support.processes import DEADLINE
from system.live.cluster import ApiServerProcess
from system.live.scheduler import KINDS, Objects, seen

GANG = "muster.dev/gang"
SCALE_DOWN = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_OTHERS = (
    Resource("test.example.com", "v1", "testnodeclasses", "TestNodeClass", namespaced=False),
    Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster", namespaced=True),
    Resource("cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment", namespaced=True),
)
BY_KIND = {each.kind: each for each in (*KINDS, *_OTHERS)}
# Reasons of Provisioned in the order of group-capacity §1.12; some may be passed too fast to be seen.
_STEPS = ("Planning", "CapacityIsNotFound", "Provisioning", "VerifyingShape", "CapacityIsProvisioned")


async def persistent(call: Callable[[], object], what: str) -> None:
    """Make a call until the server answers, as any controller does."""
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                await call()  # pyright: ignore[reportGeneralTypeIssues] -- a coroutine
                return
            except KubeError:
                await asyncio.sleep(0.05)
    raise AssertionError(what)


async def make(client: KubeClient, objects: Iterable[Json]) -> None:
    """Create objects, each with its status."""
    for obj in objects:
        resource = BY_KIND[text(obj["kind"])]
        namespace, name = text(at(obj, "metadata", "namespace")), text(at(obj, "metadata", "name"))
        await persistent(lambda r=resource, n=namespace, o=obj: create(client, r, n, o), f"{name} is created")
        if "status" in obj and resource.kind in ("Node", "Pod"):
            target, status = Target(resource, namespace, name, "status"), {"status": obj["status"]}
            await persistent(lambda t=target, s=status: patch(client, t, s), f"{name} has its status")


def conditions(request: object) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    listed = [mapping(each) for each in sequence(at(request, "status", "conditions"))]
    return {text(c["type"]): (text(c["status"]), text(c["reason"]), text(c["message"])) for c in listed}


async def wait_seen(client: KubeClient, condition: Callable[[Objects], bool], what: str) -> Objects:
    """The objects of the cluster, once they are as wanted."""
    objects: Objects = {}
    try:
        async with asyncio.timeout(DEADLINE):
            while True:
                try:
                    objects = await seen(client)
                except KubeError:
                    await asyncio.sleep(0.05)
                    continue
                if condition(objects):
                    return objects
                await asyncio.sleep(0.1)
    except TimeoutError:
        told = {str(key): conditions(obj) for key, obj in objects.items() if key.kind == "ProvisioningRequest"}
        raise AssertionError(f"after {DEADLINE:g} s still not: {what}; {told}") from None


async def wait_condition(client: KubeClient, name: str, type_: str, reason: str) -> Objects:
    """Until the request has that condition with status True."""
    key = ObjectKey("ProvisioningRequest", "ml", name)
    nothing = ("", "", "")

    def there(objects: Objects) -> bool:
        shown = conditions(objects.get(key))
        assert type_ == "Failed" or "Failed" not in shown, shown["Failed"]
        return shown.get(type_, nothing)[:2] == ("True", reason)

    return await wait_seen(client, there, f"{name}: {type_} with {reason}")


async def the_request(client: KubeClient, name: str) -> Json | None:
    """The request as it is."""
    return await get(client, Target(BY_KIND["ProvisioningRequest"], "ml", name))


def nodes_of(objects: Objects, pool: str) -> list[Json]:
    """Nodes of a pool by name."""
    label = "test.example.com/pool"
    return [obj for key, obj in objects.items() if key.kind == "Node" and at(obj, "metadata", "labels", label) == pool]


def holds_in(objects: Objects) -> list[str]:
    """Every trace of a hold: reservation taints and labels, the mark against scale-down, taint rules."""
    found = [str(key) for key in objects if key.kind == "DeviceTaintRule"]
    for key, node in objects.items():
        if key.kind != "Node":
            continue
        taints = [mapping(each).get("key") for each in sequence(at(node, "spec", "taints"))]
        if (
            GANG in taints
            or GANG in mapping(at(node, "metadata", "labels"))
            or SCALE_DOWN in mapping(at(node, "metadata", "annotations"))
        ):
            found.append(str(key))
    return found


async def consumed(server: ApiServerProcess, client: KubeClient, name: str, pods: int = 2) -> Objects:
    """Until every pod of the request is bound, its booking consumed, and nothing is held for it any more."""
    objects = await wait_condition(client, name, "BookingExpired", "CapacityBookingConsumed")
    gang = gang_of(objects, name)

    def let_go(objects: Objects) -> bool:
        held = [str(key) for key, obj in objects.items() if gang in str(holds_of(key, obj))]
        finalizers = sequence(at(objects[request_key(name)], "metadata", "finalizers"))
        return not held and "muster.dev/capacity" not in finalizers

    objects = await wait_seen(client, let_go, f"what was held for {name} is let go")
    check_statuses(forms_of(server.journal(), name))
    bound = [text(at(pod, "spec", "nodeName")) for pod in pods_of(objects, name)]
    assert len(bound) == pods
    assert all(bound)
    return objects


def gang_of(objects: Objects, name: str) -> str:
    """The gang that serves a request, as its details say."""
    gang = text(at(objects[request_key(name)], "status", "provisioningClassDetails", GANG))
    assert gang
    return gang


def pods_of(objects: Objects, name: str) -> list[Json]:
    """The pods that consume a request."""
    pods = [obj for key, obj in objects.items() if key.kind == "Pod" and key.namespace == "ml"]
    return [pod for pod in pods if consumed_request(pod) == name]


def request_key(name: str) -> ObjectKey:
    """A request of the tests."""
    return ObjectKey("ProvisioningRequest", "ml", name)


def holds_of(key: ObjectKey, obj: Json) -> object:
    """What of an object may be a hold: a rule whole, of a node taints, the label of the gang and who holds it."""
    match key.kind:
        case "DeviceTaintRule":
            return obj
        case "Node":
            holder = at(obj, "metadata", "annotations", "muster.dev/held-by")
            return [sequence(at(obj, "spec", "taints")), mapping(at(obj, "metadata", "labels")).get(GANG), holder]
        case _:
            return None


def forms_of(journal: Sequence[Write], name: str) -> list[Json]:
    """Every form that a request had."""
    return [each.obj for each in journal if each.plural == "provisioningrequests" and each.name == name]


def check_statuses(forms: Sequence[Json]) -> None:
    """The statuses of a request that was served came in the order of group-capacity §1.12 (traps T1, T31)."""
    shown = [conditions(form) for form in forms]
    assert all("Provisioned" in each for each in shown if "Accepted" in each), "Accepted never stands alone (N-2.2)"
    first = next(each for each in shown if each)
    assert (first["Accepted"][0], first["Provisioned"][:2]) == ("True", ("False", "Planning"))
    steps = [each["Provisioned"][1] for each in shown if "Provisioned" in each]
    places = [_STEPS.index(step) for step in dict.fromkeys(steps)]
    assert places == sorted(places), steps
    assert all(not (a["Provisioned"][0] == "True" and b["Provisioned"][0] != "True") for a, b in pairwise(shown) if a)
    progress = {each["Provisioned"][2] for each in shown if each and each["Provisioned"][1] == "Provisioning"}
    assert any("nodes arrived" in message for message in progress), progress
    offered = next(n for n, each in enumerate(shown) if each and each["Provisioned"][0] == "True")
    details = mapping(at(forms[offered - 1], "status", "provisioningClassDetails"))
    assert {GANG, "muster.dev/nodes", "muster.dev/reservation-taint"} <= set(details), "details come first (T31)"
    last = shown[-1]
    assert last["BookingExpired"][:2] == ("True", "CapacityBookingConsumed")
    assert "Failed" not in last
