"""An audit of a live cluster through its API server, and of a running Muster through its inventory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
import yaml

from integration.inventory.facts import Watcher
from integration.inventory.running import running_inventory
from muster_eventstore import JetStreamStore
from support.cluster_objects import GPU, Json, a_class, a_node, a_quota, a_running, a_slice, a_waiting, gpus
from support.kube_api import KubeApi, Permission
from support.processes import Told, run_muster

CLUSTER: list[Json] = [
    a_node(),
    a_class(),
    a_slice(devices=gpus(2)),
    *a_running("busy", "gpu-0"),
    *a_waiting("fits"),
    *a_waiting("waits"),
]


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    async with KubeApi() as server:
        for obj in CLUSTER:
            server.put(obj)
        yield server


@pytest.fixture
def dumped(tmp_path: Path) -> list[Json]:
    """What an audit of the same objects in a file says."""
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump_all(CLUSTER))
    return orjson.loads(run_muster("audit", path, "-o", "json").out)


async def audit(*arguments: str | Path, **environment: str) -> Told:
    return await asyncio.to_thread(run_muster, "audit", *arguments, "-o", "json", environment=environment)


async def test_a_live_cluster_is_judged_as_its_dump_would_be_and_only_listed(
    api: KubeApi, dumped: list[Json], tmp_path: Path
) -> None:
    told = await audit("--kubeconfig", api.kubeconfig(tmp_path / "config"))
    assert (told.status, told.err) == (1, "")
    assert orjson.loads(told.out) == dumped
    assert {call.verb for call in api.users.calls} == {"list"}


async def test_files_beside_a_live_cluster_add_what_it_does_not_hold(api: KubeApi, tmp_path: Path) -> None:
    quota = tmp_path / "quota.yaml"
    quota.write_text(yaml.safe_dump(a_quota("devices", {f"{GPU}.deviceclass.resource.k8s.io/devices": "1"})))
    told = await audit(quota, "--kubeconfig", api.kubeconfig(tmp_path / "config"))
    assert told.status == 1
    assert {row["subject"] for row in orjson.loads(told.out)} >= {"Pod/team-a/fits", "Pod/team-a/waits"}


async def test_a_kind_that_may_not_be_listed_is_told_and_the_rest_goes_on(api: KubeApi, tmp_path: Path) -> None:
    token = api.users.issue("reader")
    kinds = [("", "nodes"), ("", "pods"), *(("resource.k8s.io", f"resource{each}s") for each in ("slice", "claim"))]
    api.users.grant("reader", [Permission("list", group, resource) for group, resource in kinds])
    told = await audit("--kubeconfig", api.kubeconfig(tmp_path / "config", token=token))
    assert told.status == 2
    assert "deviceclasses are not read" in told.err
    (pod,) = [row for row in orjson.loads(told.out) if row["subject"] == "Pod/team-a/fits"]
    assert pod["reason"] == "class-missing"


async def test_a_cluster_that_does_not_answer_ends_with_a_sentence(api: KubeApi, tmp_path: Path) -> None:
    config = api.kubeconfig(tmp_path / "config")
    await api.stop()
    told = await audit("--kubeconfig", config)
    assert told.status == 3
    assert str(config) in told.err.replace("\n", "")


async def test_a_running_muster_is_judged_as_the_dump_would_be(
    store: JetStreamStore, streams_url: str, dumped: list[Json], tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(*CLUSTER)
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path / "state") as service:
        told = await audit("--server", MUSTER_INVENTORY_ADDRESS=service.address)
    assert (told.status, told.err) == (1, "")
    assert orjson.loads(told.out) == dumped


async def test_a_muster_that_does_not_run_ends_with_a_sentence(tmp_path: Path) -> None:
    told = await audit("--server", "--state", tmp_path, MUSTER_INVENTORY_ADDRESS="127.0.0.1:1")
    assert (told.status, "does not answer at 127.0.0.1:1" in told.err.replace("\n", "")) == (3, True)


async def test_two_clusters_at_once_or_none_are_refused(tmp_path: Path) -> None:
    both = await audit("--server", "--context", "prod")
    none = await audit()
    assert (both.status, none.status) == (2, 2)
    assert "two clusters" in both.err
    assert "name dump files" in none.err


async def test_fragmentation_of_a_live_cluster_is_that_of_its_dump(api: KubeApi, tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump_all(CLUSTER))
    config = api.kubeconfig(tmp_path / "config")
    live, dumped = [
        await asyncio.to_thread(run_muster, "fragmentation", *each, "-o", "json")
        for each in (["--kubeconfig", config], [path])
    ]
    assert (live.status, dumped.status) == (0, 0), live.err + dumped.err
    assert orjson.loads(live.out) == orjson.loads(dumped.out)
    assert {call.verb for call in api.users.calls} == {"list"}
