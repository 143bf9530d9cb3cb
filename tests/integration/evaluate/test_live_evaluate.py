"""An evaluation of a live cluster through its API server."""

import asyncio
from pathlib import Path

import orjson
import yaml

from support.cluster_objects import Json, a_group, an_object, gpus
from support.kube_api import KubeApi, Permission
from support.kube_api.kinds import DEFAULT_TYPES, ResourceType
from support.processes import run_muster
from unit.muster_evaluate.clusters import CLASS, a_pending_gang, a_scheduler, an_autoscaler

TYPES = (*DEFAULT_TYPES, ResourceType("apps", ("v1",), "Deployment", "deployments", True))
KUEUE = an_object(
    "v1",
    "ConfigMap",
    "kueue",
    "kueue-system",
    data={"c.yaml": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"},
)
CLUSTER: list[Json] = [
    CLASS,
    a_scheduler(),
    an_autoscaler(),
    KUEUE,
    a_group("g", gpus(2), most=2, price=3),
    *a_pending_gang("train", 4),
]


async def test_a_live_cluster_is_judged_as_its_dump_would_be_and_only_listed(tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump_all(CLUSTER))
    async with KubeApi(TYPES) as api:
        for obj in CLUSTER:
            api.put(obj)
        config = api.kubeconfig(tmp_path / "config")
        told = await asyncio.to_thread(run_muster, "evaluate", "--kubeconfig", config, "-o", "json")
        assert {call.verb for call in api.users.calls} == {"list"}
    dumped = await asyncio.to_thread(run_muster, "evaluate", path, "-o", "json")
    assert (told.status, told.err) == (dumped.status, dumped.err) == (1, "")
    assert orjson.loads(told.out) == orjson.loads(dumped.out)


async def test_what_may_not_be_listed_is_told(tmp_path: Path) -> None:
    async with KubeApi(TYPES) as api:
        api.put(an_autoscaler())
        token = api.users.issue("reader")
        api.users.grant("reader", [Permission("list", "apps", "deployments")])
        config = api.kubeconfig(tmp_path / "config", token=token)
        told = await asyncio.to_thread(run_muster, "evaluate", "--kubeconfig", config, "-o", "json")
    assert told.status == 2
    assert "configmaps are not read" in told.err
    assert [each["name"] for each in orjson.loads(told.out)["components"]] == ["cluster-autoscaler"]
