"""PodGroups of a live cluster that ask for their capacity themselves; the test plays the matcher and the scheduler."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from integration.gang_coordinator.running import (
    World,
    a_claim_template,
    a_plan,
    a_request,
    a_template,
    a_world,
    running_coordinator,
)
from integration.kubernetes.following import until
from integration.kubernetes.test_live_requests import conditions
from integration.kubernetes.watching import running, settings
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster_eventstore import JetStreamStore
from muster_kube.parts import at, mapping, sequence
from muster_kubeapi import Json
from support.kube_api import KubeApi

OURS, FOREIGN = {"name": "muster.dev/capacity"}, {"name": "kueue.x-k8s.io/admission"}


@dataclass
class Bench:
    """A live cluster with watcher and coordinator."""

    api: KubeApi
    world: World

    def group(self) -> dict[str, tuple[str, str]]:
        return conditions(self.api.get("PodGroup", "ml", "train"))

    def pod(self, name: str) -> Json:
        found = self.api.get("Pod", "ml", name)
        assert found is not None
        return found


@asynccontextmanager
async def bench(streams_url: str, store: JetStreamStore, home: Path, **more: object) -> AsyncGenerator[Bench]:
    async with KubeApi() as api:
        config = api.kubeconfig(home / "config")
        live = {"cluster_source": "kubernetes", "kubeconfig": config, **more}
        async with (
            running(settings(streams_url, home / "watcher", config)),
            a_world(store, home) as world,
            running_coordinator(streams_url, home / "coordinator", **live),
        ):
            api.put(a_claim_template())
            yield Bench(api, world)


def a_group(least: int = 2, *, asks: bool = True) -> Json:
    annotations = {"muster.dev/capacity": "atomic"} if asks else {}
    theirs = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": ""}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml", "annotations": annotations},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
        "status": {"conditions": [theirs]},
    }


def a_member(name: str, **spec: object) -> Json:
    container = {"name": "main", "image": "registry.example/train:1", "resources": {"claims": [{"name": "gpus"}]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "labels": {"app": "train"}},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "four-gpus"}],
            "schedulingGroup": {"podGroupName": "train"},
            "schedulingGates": [OURS, FOREIGN],
            "tolerations": [{"key": "a", "operator": "Exists"}],
            **spec,
        },
    }


async def asked(bench: Bench) -> claim_commands.BookGang:
    (book,) = await bench.world.wait_asked(claim_commands.BookGang)
    assert isinstance(book, claim_commands.BookGang)
    return book


async def test_a_group_is_asked_for_once_it_has_its_least_pods_and_they_go_on_when_it_is_offered(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with bench(streams_url, store, tmp_path) as here:
        here.api.put(a_group())
        here.api.put(a_member("train-0"))
        here.api.put(a_member("train-1"))
        book = await asked(here)
        request = orjson.loads(book.spec.request_json)
        assert [each["count"] for each in request["spec"]["podSets"]] == [2]
        (template,) = [o for o in map(orjson.loads, book.spec.objects_json) if o["kind"] == "PodTemplate"]
        assert "schedulingGates" not in template["template"]["spec"]
        assert [o["kind"] for o in map(orjson.loads, book.spec.objects_json)].count("PodGroup") == 1
        await here.world.booked(book.gang_id, a_plan(existing=("n1", "n2")))
        await here.world.wait_asked(claim_commands.ConfirmGang)
        assert OURS in sequence(at(here.pod("train-0"), "spec", "schedulingGates"))
        await here.world.confirmed(book.gang_id, "n1", "n2")
        for name in ("train-0", "train-1"):
            await until(
                lambda n=name: at(here.pod(n), "spec", "schedulingGates") == [FOREIGN], "Muster's gate is taken away"
            )
            mine = {"key": "muster.dev/gang", "operator": "Equal", "value": book.gang_id, "effect": "NoSchedule"}
            assert sequence(at(here.pod(name), "spec", "tolerations")) == [{"key": "a", "operator": "Exists"}, mine]
        for index in range(2):
            here.api.put(a_member(f"train-{index}", nodeName=f"n{index + 1}", schedulingGates=None))
        await until(lambda: "muster.dev/BookingExpired" in here.group(), "the capacity is consumed")
        assert here.group()["muster.dev/Provisioned"] == ("True", "CapacityIsProvisioned")
        assert here.group()["PodGroupInitiallyScheduled"] == ("False", "Unschedulable")


async def test_pods_that_come_one_by_one_are_asked_for_together(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with bench(streams_url, store, tmp_path, retry_settle=1.0) as here:
        here.api.put(a_group(least=1))
        for index in range(4):
            here.api.put(a_member(f"train-{index}"))
        book = await asked(here)
        assert [each["count"] for each in orjson.loads(book.spec.request_json)["spec"]["podSets"]] == [4]


@pytest.mark.parametrize("why", ["annotation", "deleted", "pods"])
async def test_a_group_that_asks_no_more_or_lost_its_pods_is_cancelled(
    streams_url: str, store: JetStreamStore, tmp_path: Path, why: str
) -> None:
    async with bench(streams_url, store, tmp_path) as here:
        here.api.put(a_group(least=1))
        here.api.put(a_member("train-0"))
        book = await asked(here)
        await here.world.booked(book.gang_id, a_plan(existing=("n1",)))
        await here.world.wait_asked(claim_commands.ConfirmGang)
        match why:
            case "annotation":
                here.api.put(a_group(least=1, asks=False))
            case "deleted":
                here.api.delete("PodGroup", "ml", "train")
            case _:
                here.api.delete("Pod", "ml", "train-0")
        await here.world.wait_asked(claim_commands.ReleaseGang)
        await here.world.give_back_all(book.gang_id)
        if why != "deleted":
            await until(lambda: here.group().get("muster.dev/Failed") == ("True", "Cancelled"), "its end is told")


async def test_after_an_end_other_pods_make_another_attempt_and_the_same_do_not(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with bench(streams_url, store, tmp_path) as here:
        here.api.put(a_group(least=1))
        here.api.put(a_member("train-0"))
        first = await asked(here)
        await here.world.refused(first.gang_id, 1, "8 GPUs on one NUMA node; no node has more than 4")  # never
        await until(lambda: "muster.dev/Failed" in here.group(), "it has failed")
        here.api.put({**a_group(least=1), "metadata": {**mapping(a_group()["metadata"]), "labels": {"a": "b"}}})
        here.api.remove("Pod", "ml", "train-0")
        here.api.put(a_member("train-1"))
        second = (await here.world.wait_asked(claim_commands.BookGang, 2))[1]
        assert isinstance(second, claim_commands.BookGang)
        assert second.gang_id != first.gang_id


@pytest.mark.parametrize(("on", "asks"), [(True, False), (False, True)])
async def test_groups_that_do_not_ask_are_left_alone_and_all_are_when_it_is_switched_off(
    streams_url: str, store: JetStreamStore, tmp_path: Path, *, on: bool, asks: bool
) -> None:
    async with bench(streams_url, store, tmp_path, pod_groups=on) as here:
        here.api.put(a_group(least=1, asks=asks))
        here.api.put(a_member("train-0"))
        here.api.put(a_template())
        here.api.put(a_request("later"))
        assert (await asked(here)).gang_id.startswith("later-")
        assert "muster.dev/Accepted" not in here.group()
