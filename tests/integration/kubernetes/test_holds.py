"""What a gang holds in a live cluster, from the booking to each of its ends, and over restarts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from muster_eventstore import Cause
from muster_gang_coordinator.adapters.kubernetes import KubernetesCluster
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi
from muster_gang_coordinator.adapters.kubernetes_holds import HoldKeeper
from muster_gang_coordinator.domain.commands import CancelGang, RecordConfirmation, RecordNodeLoss, Timer
from muster_gang_coordinator.domain.observed import RequestSeen
from muster_gang_coordinator.domain.plans import (
    DeviceResult,
    ExistingNode,
    GroupOrder,
    NewNode,
    NoPlanKind,
    Placement,
    Plan,
    PlannedClaim,
)
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.handlers.status_writer import StatusWriter
from muster_gang_coordinator.settings import Hold
from muster_gang_coordinator.wire.statuses import from_status
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import KubeClient, KubeConfig
from muster_types import ClusterId, DeviceId, NodeName, ObjectKey, PodSetName
from support.kube_api import KubeApi, without
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, Story, a_node

LOCAL = ClusterId("local")
GPU0, GPU1 = (DeviceId("gpu.example.com", "x1", f"gpu-{index}") for index in range(2))
SCALE_DOWN = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
FINALIZER = "muster.dev/capacity"


def claim_template(*tolerations: Mapping[str, object]) -> bytes:
    exactly = {"deviceClassName": "gpu", "tolerations": list(tolerations)}
    spec = {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
    return orjson.dumps({"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": spec}})


TOLERANT = claim_template({"key": "muster.dev/gang", "operator": "Exists", "effect": "NoSchedule"})
OTHERS = claim_template({"key": "other", "operator": "Exists"})


def on_n1(index: int) -> Placement:
    """A pod of the gang on the node that was ordered."""
    return Placement(PodSetName("workers"), index, ExistingNode(NodeName("n1")))


def a_plan(*devices: DeviceId, **results: object) -> Plan:
    """One pod with devices on a node of the cluster, one on a new node."""
    claim = PlannedClaim("gpus", "", tuple(DeviceResult("gpus", each) for each in devices), **results)  # pyright: ignore[reportArgumentType] -- fields by name
    there = Placement(PodSetName("workers"), 0, ExistingNode(NodeName("x1")), (claim,))
    return Plan((there, Placement(PodSetName("workers"), 1, NewNode(H100, 0))), (GroupOrder(H100, 1, 10.0),))


@dataclass
class Held:
    """A cluster, and the gangs of one coordinator's life."""

    api: KubeApi
    client: KubeClient
    story: Story = field(default_factory=Story)
    gangs: GangsView = field(default_factory=GangsView)
    told: int = 0

    @asynccontextmanager
    async def life(self, kinds: frozenset[Hold] = frozenset(Hold)) -> AsyncIterator[HoldKeeper]:
        """A coordinator from its start to its end; a crash, if anything is left to do."""
        apis = {LOCAL: ClusterApi(LOCAL, self.client)}
        self.gangs, self.told = GangsView(), 0
        keeper, cluster = HoldKeeper(apis, kinds), KubernetesCluster(apis)
        self._statuses = StatusWriter(self.gangs, self._view(), cluster, cluster)
        self._keeper = keeper
        self.apply()
        self._statuses.start(("local",))
        await keeper.start(self.gangs)
        tasks = [asyncio.create_task(each.run()) for each in (keeper, self._statuses)]
        try:
            yield keeper
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _view(self) -> ClusterView:
        """What the watcher has told of the request."""
        view, shown = ClusterView(), self.api.get("ProvisioningRequest", "ml", "train")
        if shown is not None:
            key, status = ObjectKey("ProvisioningRequest", "ml", "train"), from_status(mapping(shown.get("status")))
            seen = RequestSeen(key, text(at(shown, "metadata", "uid")), "atomic.muster.dev", status, b"{}")
            view.apply(LOCAL, [seen], Cause.first("test"))
        return view

    def apply(self) -> None:
        """Tell the followers what the story has come to."""
        for event in self.story.history[self.told :]:
            for step in self.gangs.apply(LOCAL, GANG, [event], NOON):
                self._statuses.saw(step)
                self._keeper.saw(step)
        self.told = len(self.story.history)

    async def settled(self) -> None:
        """Tell, and wait until nothing is left to do."""
        self.apply()
        async with asyncio.timeout(20):
            await self._statuses.wait_idle()
            await self._keeper.wait_idle()

    def held_nodes(self) -> dict[str, str]:
        """Nodes that must not be scaled down, with the gangs that say so."""
        return {
            text(at(node, "metadata", "name")): text(mapping(at(node, "metadata", "annotations"))["muster.dev/held-by"])
            for node in self.api.all("Node")
            if mapping(at(node, "metadata", "annotations")).get(SCALE_DOWN) == "true"
        }

    def kept_devices(self) -> set[str]:
        """Devices with a rule."""
        return {text(at(rule, "spec", "deviceSelector", "device")) for rule in self.api.all("DeviceTaintRule")}

    def finalizers(self) -> list[object] | None:
        """Those of the request; None when it is gone."""
        found = self.api.get("ProvisioningRequest", "ml", "train")
        return None if found is None else list(sequence(at(found, "metadata", "finalizers")))

    def nothing_left(self) -> bool:
        """No trace of a hold on any object."""
        nodes = [orjson.dumps(node) for node in self.api.all("Node")]
        traces = (b"muster.dev/held", SCALE_DOWN.encode())
        return not self.kept_devices() and not any(trace in node for node in nodes for trace in traces)


def a_cluster_in(api: KubeApi) -> None:
    for name in ("x1", "n1", "free"):
        api.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": {"a": "b"}}})
    metadata = {"name": "train", "namespace": "ml", "uid": "uid-1"}
    api.put({"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "metadata": metadata, "spec": {}})


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Held]:
    async with KubeApi() as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        a_cluster_in(api)
        yield Held(api, client)


async def test_t43_f5_what_is_booked_is_held_until_the_last_pod_is_bound(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,), pod_count=2)
        await held.settled()
        assert held.finalizers() == [FINALIZER]
        assert held.nothing_left()
        held.story.booked(a_plan(GPU0, GPU1))
        await held.settled()
        assert held.held_nodes() == {"x1": GANG}
        assert held.kept_devices() == {"gpu-0", "gpu-1"}
        held.story.filled("a1-1", "n1").arrived(a_node("n1"))
        await held.settled()
        assert held.held_nodes() == {"x1": GANG, "n1": GANG}
        placements = (
            a_plan(GPU0, GPU1).placements[0],
            on_n1(1),
        )
        held.story.tell(RecordConfirmation(1, placements, held.story.now))
        held.story.bound("ml/p0")
        await held.settled()
        assert held.held_nodes() == {"x1": GANG, "n1": GANG}
        held.story.bound("ml/p1")
        await held.settled()
        assert held.nothing_left()
        assert held.finalizers() == []
        assert at(held.api.get("Node", "", "x1"), "metadata", "annotations") == {"a": "b"}


async def test_a_rule_taints_one_device_for_everybody_but_the_gang(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,)).booked(a_plan(GPU0))
        await held.settled()
    (rule,) = held.api.all("DeviceTaintRule")
    assert at(rule, "spec") == {
        "deviceSelector": {"driver": "gpu.example.com", "pool": "x1", "device": "gpu-0"},
        "taint": {"key": "muster.dev/gang", "value": GANG, "effect": "NoSchedule"},
    }


@pytest.mark.parametrize(
    ("objects", "results"),
    [((OTHERS,), {}), ((TOLERANT, OTHERS), {}), ((), {}), ((TOLERANT,), {"existing": True})],
    ids=["tolerates something else", "one claim does not tolerate", "no claims", "allocated already"],
)
async def test_no_rule_is_made_that_would_keep_the_gang_itself_away_or_that_nothing_needs(
    held: Held, objects: tuple[bytes, ...], results: dict[str, object]
) -> None:
    async with held.life():
        held.story.requested(objects_json=objects).booked(a_plan(GPU0, **results))
        await held.settled()
        assert held.held_nodes() == {"x1": GANG}
        assert held.kept_devices() == set()


async def test_devices_that_are_shared_or_only_watched_are_not_kept(held: Held) -> None:
    shared = DeviceResult("gpus", GPU0, shared=True)
    admin = DeviceResult("gpus", GPU1, admin_access=True)
    claim = PlannedClaim("gpus", "", (shared, admin))
    plan = Plan((Placement(PodSetName("workers"), 0, ExistingNode(NodeName("x1")), (claim,)),))
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,)).booked(plan)
        await held.settled()
        assert held.kept_devices() == set()


async def test_a_new_plan_moves_the_holds(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,)).booked(a_plan(GPU0))
        await held.settled()
        held.story.short("a1-1", missing=1)
        await held.settled()
        claim = PlannedClaim("gpus", "", (DeviceResult("gpus", GPU1),))
        elsewhere = Plan((Placement(PodSetName("workers"), 0, ExistingNode(NodeName("free")), (claim,)),))
        held.story.booked(elsewhere, attempt=2)
        await held.settled()
        assert held.held_nodes() == {"free": GANG}
        assert held.kept_devices() == {"gpu-1"}


@pytest.mark.parametrize("end", ["cancelled", "expired", "revoked"])
async def test_nothing_is_left_in_any_end(held: Held, end: str) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0))
        held.story.filled("a1-1", "n1").arrived(a_node("n1"))
        placements = (a_plan(GPU0).placements[0], on_n1(1))
        held.story.tell(RecordConfirmation(1, placements, held.story.now))
        await held.settled()
        assert not held.nothing_left()
        match end:
            case "cancelled":
                held.story.tell(CancelGang("deleted", held.story.now, "uid-1"))
            case "expired":
                held.story.at(60).woken(Timer.BOOKING)
            case _:
                held.story.tell(RecordNodeLoss(NodeName("x1"), held.story.now))
                held.story.refused(NoPlanKind.NOT_NOW, attempt=2)
        await held.settled()
        assert held.nothing_left()
        assert held.finalizers() == [FINALIZER]  # until the capacity is back
        held.story.cancelled("a1-1", "n1")
        held.story.released()
        await held.settled()
        assert held.finalizers() == []


async def test_a_request_that_is_deleted_stays_until_its_end_is_written(held: Held) -> None:
    states: list[object] = []
    async with held.life():
        held.story.requested(objects_json=(), pod_count=2).booked(a_plan())
        await held.settled()
        held.api.delete("ProvisioningRequest", "ml", "train")
        assert held.finalizers() == [FINALIZER]
        held.story.tell(CancelGang("deleted", held.story.now, "uid-1"))
        await held.settled()
        assert held.finalizers() == [FINALIZER]
        start = held.api.store.revision
        held.story.cancelled("a1-1", "n1")
        held.story.released()
        await held.settled()
        assert held.finalizers() is None
    events = held.api.store.after(("autoscaling.x-k8s.io", "provisioningrequests"), start)
    last = events[-1].before
    assert last is not None
    states = [mapping(each)["type"] for each in sequence(at(last.obj, "status", "conditions"))]
    assert "Failed" in states


async def test_a_restart_takes_up_what_was_held_and_what_was_missed(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0))
        await held.settled()
    held.api.users.calls.clear()
    async with held.life():
        await held.settled()
        assert not [call for call in held.api.users.calls if call.verb in ("create", "patch", "delete")]
    held.story.tell(CancelGang("deleted", held.story.now, "uid-1"))
    held.story.cancelled("a1-1")
    held.story.released()
    async with held.life():
        await held.settled()
        assert held.nothing_left()
        assert held.finalizers() == []


async def test_holds_of_gangs_that_nobody_has_recorded_are_taken_away(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,), pod_count=2).booked(a_plan(GPU0))
        await held.settled()
    held.story = Story()
    held.api.delete("ProvisioningRequest", "ml", "train")
    async with held.life():
        await held.settled()
        assert held.nothing_left()
        assert held.finalizers() is None


async def test_an_absent_server_is_waited_out_and_half_done_holds_are_completed(held: Held) -> None:
    async with held.life():
        held.story.requested(objects_json=(TOLERANT,)).booked(a_plan(GPU0, GPU1))
        held.api.faults.refuse(503, 3, containing="devicetaintrules")
        held.api.faults.refuse(409, 2, method="PATCH", containing="nodes/x1")
        await held.settled()
        assert held.kept_devices() == {"gpu-0", "gpu-1"}
        assert held.held_nodes() == {"x1": GANG}


async def test_two_gangs_on_one_node_hold_it_together(held: Held) -> None:
    held.api.put(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "x1",
                "annotations": {SCALE_DOWN: "true", "muster.dev/held-by": "another"},
                "labels": {"muster.dev/held": ""},
            },
        }
    )
    async with held.life():
        # The other gang is not recorded, so the start takes its hold away: the node is free before ours comes.
        await held.settled()
        assert held.held_nodes() == {}
        held.api.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x1", "annotations": HELD_BY_ANOTHER}})
        held.story.requested().booked(a_plan(GPU0))
        await held.settled()
        assert held.held_nodes() == {"x1": f"another,{GANG}"}
        held.story.tell(CancelGang("deleted", held.story.now, "uid-1"))
        await held.settled()
        assert held.held_nodes() == {"x1": "another"}


HELD_BY_ANOTHER = {SCALE_DOWN: "true", "muster.dev/held-by": "another"}


async def test_a_node_that_somebody_else_keeps_from_scale_down_stays_so(held: Held) -> None:
    metadata = {"name": "x1", "annotations": {SCALE_DOWN: "true"}}
    held.api.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    async with held.life():
        held.story.requested().booked(a_plan(GPU0))
        await held.settled()
        held.story.tell(CancelGang("deleted", held.story.now, "uid-1"))
        await held.settled()
    assert at(held.api.get("Node", "", "x1"), "metadata", "annotations") == {SCALE_DOWN: "true"}


@pytest.mark.parametrize("off", list(Hold))
async def test_each_hold_can_be_switched_off_and_what_was_held_before_goes(held: Held, off: Hold) -> None:
    held.story.requested(objects_json=(TOLERANT,)).booked(a_plan(GPU0))
    async with held.life():
        await held.settled()
        assert (held.held_nodes(), held.kept_devices(), held.finalizers()) == ({"x1": GANG}, {"gpu-0"}, [FINALIZER])
    async with held.life(frozenset(Hold) - {off}):
        await held.settled()
    assert bool(held.held_nodes()) is (off is not Hold.SCALE_DOWN)
    assert bool(held.kept_devices()) is (off is not Hold.DEVICES)
    assert bool(held.finalizers()) is (off is not Hold.REQUESTS)


async def test_a_cluster_without_taint_rules_is_held_without_them(tmp_path: Path) -> None:
    types = without("DeviceTaintRule")
    async with KubeApi(types) as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        a_cluster_in(api)
        held = Held(api, client)
        async with held.life():
            held.story.requested(objects_json=(TOLERANT,)).booked(a_plan(GPU0))
            await held.settled()
            assert held.held_nodes() == {"x1": GANG}


async def test_a_gang_that_another_attempt_adopts_lets_the_first_request_go(held: Held) -> None:
    async with held.life():
        held.story.requested(workload_key="w/check")
        await held.settled()
        assert held.finalizers() == [FINALIZER]
        metadata = {"name": "train-2", "namespace": "ml", "uid": "uid-2"}
        kind = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest"}
        held.api.put({**kind, "metadata": metadata, "spec": {}})
        held.story.requested(workload_key="w/check", name="train-2", uid="uid-2")
        await held.settled()
        assert held.finalizers() == []
        second = held.api.get("ProvisioningRequest", "ml", "train-2")
        assert at(second, "metadata", "finalizers") == [FINALIZER]
