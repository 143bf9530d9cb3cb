"""A ProvisioningRequest in a live cluster from its creation to the last bound pod: watcher and coordinator over a fake
API server and a real NATS server; the test plays the matcher and whoever binds pods."""

from pathlib import Path

import pytest

from integration.gang_coordinator.running import (
    a_claim_template,
    a_plan,
    a_request,
    a_template,
    a_world,
    running_coordinator,
)
from integration.kubernetes.following import a_node, until
from integration.kubernetes.watching import running, settings
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster_eventstore import JetStreamStore
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi
from muster_gang_coordinator.adapters.kubernetes_kueue import KueueConfigs
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Json, KubeClient, KubeConfig
from muster_servicekit.clock import SystemClock
from muster_types import ClusterId
from support.kube_api import DEFAULT_TYPES, KubeApi, Permission, ResourceType, backend_types

REQUESTS = ("autoscaling.x-k8s.io", "provisioningrequests")
SCALE_DOWN = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


def conditions(request: object) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    listed = [mapping(each) for each in sequence(at(request, "status", "conditions"))]
    return {text(each["type"]): (text(each["status"]), text(each["reason"])) for each in listed}


def seen(api: KubeApi, start: int) -> list[Json]:
    """Every form that the request had, as a watch would have told it."""
    events = api.store.after(REQUESTS, start)
    return [event.after.obj for event in events if event.after is not None]


@pytest.mark.parametrize("trouble", ["none", "connections are cut all the time"])
async def test_statuses_come_in_the_order_of_their_steps_and_what_was_held_is_let_go(
    streams_url: str, store: JetStreamStore, tmp_path: Path, trouble: str
) -> None:
    async with KubeApi() as api:
        config = api.kubeconfig(tmp_path / "config")
        start = api.store.revision
        if trouble != "none":
            api.faults.cut_after = 6000
        live = {"cluster_source": "kubernetes", "kubeconfig": config}
        async with (
            running(settings(streams_url, tmp_path / "watcher", config)),
            a_world(store, tmp_path) as world,
            running_coordinator(streams_url, tmp_path / "coordinator", **live),
        ):
            for name in ("x0", "x1"):
                api.put(a_node(name))
            api.put(a_request(count=2))  # before what it names, as some controllers create them
            api.put(a_template())
            api.put(a_claim_template())
            (asked,) = await world.wait_asked(claim_commands.BookGang)
            assert isinstance(asked, claim_commands.BookGang)
            request = ("ProvisioningRequest", "ml", "train")
            await until(lambda: "Accepted" in conditions(api.get(*request)), "the request is accepted")
            await world.booked(asked.gang_id, a_plan(existing=("x0", "x1")))
            await world.wait_asked(claim_commands.ConfirmGang)
            await until(
                lambda: all(at(each, "metadata", "annotations", SCALE_DOWN) == "true" for each in api.all("Node")),
                "the nodes are held",
            )
            await world.confirmed(asked.gang_id, "x0", "x1")
            await until(lambda: conditions(api.get(*request))["Provisioned"][0] == "True", "the capacity is offered")
            consume = {"autoscaling.x-k8s.io/consume-provisioning-request": "train"}
            for index in range(2):
                metadata = {"name": f"train-{index}", "namespace": "ml", "annotations": consume}
                api.put({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": f"x{index}"}})
            await until(lambda: "BookingExpired" in conditions(api.get(*request)), "the capacity is consumed")
            await until(
                lambda: not any(at(each, "metadata", "annotations", SCALE_DOWN) for each in api.all("Node")),
                "the nodes are let go",
            )
            forms = seen(api, start)
    steps = [conditions(form)["Provisioned"][1] for form in forms if "Provisioned" in conditions(form)]
    order = list(dict.fromkeys(steps))
    assert order[0] == "Planning"
    assert order[-1] == "CapacityIsProvisioned"
    assert set(order) <= {"Planning", "Provisioning", "VerifyingShape", "CapacityIsProvisioned"}
    assert conditions(forms[-1])["BookingExpired"] == ("True", "CapacityBookingConsumed")
    first_offer = next(form for form in forms if conditions(form).get("Provisioned", ("", ""))[0] == "True")
    details = mapping(at(first_offer, "status", "provisioningClassDetails"))
    assert details["muster.dev/nodes"] == "x0,x1"
    assert all("Provisioned" in conditions(form) for form in forms if "Accepted" in conditions(form))


@pytest.mark.parametrize("events", [True, False])
async def test_what_is_odd_stands_as_an_event_at_the_object_unless_switched_off(
    streams_url: str, store: JetStreamStore, tmp_path: Path, *, events: bool
) -> None:
    async with KubeApi(backend_types()) as api:
        config = api.kubeconfig(tmp_path / "config")
        live = {"cluster_source": "kubernetes", "kubeconfig": config, "events": events, "template_wait": 60.0}
        async with (
            running(settings(streams_url, tmp_path / "watcher", config)),
            a_world(store, tmp_path) as world,
            running_coordinator(streams_url, tmp_path / "coordinator", **live),
        ):
            for obj in (a_template(), a_claim_template(), a_request()):
                api.put(obj)
            await world.wait_asked(claim_commands.BookGang)
            api.put({**a_request(), "spec": {**mapping(a_request()["spec"]), "parameters": {"late": "x"}}})
            changed = mapping(a_template()["template"])
            api.put({**a_template(), "template": {**changed, "spec": {**mapping(changed["spec"]), "priority": 7}}})
            api.put(a_request("later"))
            later = ("ProvisioningRequest", "ml", "later")
            await until(lambda: "Accepted" in conditions(api.get(*later)), "a later request is accepted")
            if events:
                await until(lambda: len(api.all("Event")) == 2, "both are told")
    told = {text(event["reason"]): event for event in api.all("Event")}
    assert sorted(told) == (["ParametersChanged", "TemplateDrift"] if events else [])
    for event in told.values():
        assert at(event, "involvedObject", "name") == "train"


@pytest.mark.parametrize("allowed", [True, False])
async def test_t33_a_kueue_config_that_would_make_no_request_is_found(tmp_path: Path, *, allowed: bool) -> None:
    group = "kueue.x-k8s.io"
    configs = ResourceType(group, ("v1beta2",), "ProvisioningRequestConfig", "provisioningrequestconfigs", False)
    async with KubeApi((*DEFAULT_TYPES, configs)) as api:
        spec = {"provisioningClassName": "atomic.muster.dev", "managedResources": ["nvidia.com/gpu"]}
        metadata = {"name": "muster"}
        api.put({"apiVersion": f"{group}/v1beta2", "kind": configs.kind, "metadata": metadata, "spec": spec})
        token = api.users.issue("coordinator")
        api.users.grant("coordinator", [Permission("list", group, configs.plural)] if allowed else [])
        async with KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config", token=token))) as client:
            apis = {ClusterId("local"): ClusterApi(ClusterId("local"), client)}
            found = await KueueConfigs(apis, ("*.muster.dev",), SystemClock()).problems(ClusterId("local"))
    assert ["spec.managedResources lists nvidia.com/gpu" in each for each in found] == ([True] if allowed else [])
