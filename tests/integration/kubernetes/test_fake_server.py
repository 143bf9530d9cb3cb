"""The fake API server keeps what the real one promises: what the other tests rely on."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import cast

import orjson
import pytest

from integration.kubernetes.following import NODES, PODS, REQUESTS, a_node, certified
from muster_kubeapi import (
    Conflict,
    Expired,
    Json,
    KubeClient,
    KubeConfig,
    Lacking,
    Missing,
    PatchForm,
    Refused,
    Resource,
    Served,
    Target,
    Unreachable,
    Wanted,
    apply,
    create,
    delete,
    discover,
    get,
    list_pages,
    patch,
    replace,
    watch_changes,
)
from support.kube_api import KubeApi, Permission, in_versions, without

N1 = Target(NODES, "", "n1")
R1 = Target(REQUESTS, "team", "r1")
MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment", True)


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    async with KubeApi() as server:
        yield server


@pytest.fixture
async def client(api: KubeApi, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config")), agent="tester/1.0") as opened:
        yield opened


def meta(obj: object) -> Json:
    assert isinstance(obj, dict)
    return cast("Json", obj["metadata"])


def a_request(**status: object) -> Json:
    obj: Json = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "r1", "namespace": "team"},
        "spec": {"provisioningClassName": "atomic.muster.dev"},
    }
    return {**obj, "status": status} if status else obj


async def test_a_created_object_has_a_uid_a_version_and_no_status_of_its_creator(client: KubeClient) -> None:
    made = await create(client, REQUESTS, "team", a_request(conditions=[]))
    assert not isinstance(made, Conflict)
    assert {"uid", "resourceVersion", "creationTimestamp", "generation"} <= meta(made).keys()
    assert "status" not in made
    assert made["kind"] == "ProvisioningRequest"
    assert isinstance(await create(client, REQUESTS, "team", a_request()), Conflict)


async def test_each_write_has_a_version_of_its_own_and_one_that_changes_nothing_has_none(client: KubeClient) -> None:
    made = await create(client, NODES, "", a_node("n1"))
    again = await patch(client, N1, {"metadata": {"labels": {}}})
    assert meta(again)["resourceVersion"] == meta(made)["resourceVersion"]
    changed = await patch(client, N1, {"metadata": {"labels": {"a": "b"}}})
    assert int(str(meta(changed)["resourceVersion"])) > int(str(meta(made)["resourceVersion"]))


async def test_a_write_over_another_version_is_a_conflict(client: KubeClient) -> None:
    made = await create(client, NODES, "", a_node("n1"))
    await patch(client, N1, {"metadata": {"labels": {"a": "b"}}})
    assert isinstance(made, dict)
    assert isinstance(await replace(client, N1, made), Conflict)
    old = {"metadata": {"resourceVersion": meta(made)["resourceVersion"], "labels": {"a": "c"}}}
    assert isinstance(await patch(client, N1, old), Conflict)
    assert isinstance(await patch(client, N1, {"metadata": {"uid": "another"}}), Conflict)


async def test_status_and_spec_are_written_apart(client: KubeClient) -> None:
    await create(client, REQUESTS, "team", a_request())
    status = {"spec": {"provisioningClassName": "x"}, "status": {"conditions": [{"type": "Accepted"}]}}
    await patch(client, Target(REQUESTS, "team", "r1", "status"), status)
    await patch(client, R1, {"status": {"conditions": []}, "metadata": {"labels": {"a": "b"}}})
    found = await get(client, R1)
    assert found is not None
    assert found["spec"] == {"provisioningClassName": "atomic.muster.dev"}
    assert found["status"] == {"conditions": [{"type": "Accepted"}]}
    assert meta(found)["generation"] == 1
    changed = await patch(client, R1, {"spec": {"parameters": {"a": "b"}}})
    assert meta(changed)["generation"] == 2


async def test_json_patches_test_before_they_write(client: KubeClient) -> None:
    await create(client, NODES, "", {**a_node("n1"), "spec": {"taints": [{"key": "a"}, {"key": "b"}]}})
    operations: list[Json] = [
        {"op": "test", "path": "/spec/taints/0/key", "value": "a"},
        {"op": "remove", "path": "/spec/taints/0"},
        {"op": "add", "path": "/metadata/labels/x.dev~1y", "value": "z"},
    ]
    done = await patch(client, N1, operations, PatchForm.JSON)
    assert isinstance(done, dict)
    assert done["spec"] == {"taints": [{"key": "b"}]}
    assert meta(done)["labels"] == {"x.dev/y": "z"}
    with pytest.raises(Refused, match="422"):
        await patch(client, N1, operations, PatchForm.JSON)


async def test_finalizers_hold_an_object_until_the_last_is_taken_away(api: KubeApi, client: KubeClient) -> None:
    obj = a_request()
    await create(client, REQUESTS, "team", {**obj, "metadata": {**meta(obj), "finalizers": ["a/b", "c/d"]}})
    assert await delete(client, R1)
    held = await get(client, R1)
    assert "deletionTimestamp" in meta(held)
    await patch(client, R1, {"metadata": {"finalizers": ["c/d"]}})
    with pytest.raises(Refused, match="no new finalizers"):
        await patch(client, R1, {"metadata": {"finalizers": ["c/d", "e/f"]}})
    before = api.store.revision
    await patch(client, R1, {"metadata": {"finalizers": []}})
    assert await get(client, R1) is None
    assert api.store.revision == before + 1
    assert not await delete(client, R1)
    assert isinstance(await patch(client, R1, {}), Missing)


async def test_a_deletion_with_a_uid_spares_another_object_of_the_name(client: KubeClient) -> None:
    made = await create(client, NODES, "", a_node("n1"))
    assert not await delete(client, N1, uid="another")
    assert await delete(client, N1, uid=str(meta(made)["uid"]))


async def test_apply_owns_fields_and_gives_up_those_it_no_longer_states(client: KubeClient) -> None:
    stated = {"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"unschedulable": True}}
    made = await apply(client, N1, stated, manager="one", force=False)
    assert isinstance(made, dict)
    other = await apply(client, N1, {"metadata": {"labels": {"a": "2"}}}, manager="two", force=False)
    assert isinstance(other, Conflict)
    assert 'conflict with "one": .metadata.labels.a' in other.message
    await apply(client, N1, {"metadata": {"labels": {"a": "2"}}}, manager="two", force=True)
    left = await apply(client, N1, {"metadata": {"labels": {"a": "2"}}}, manager="one", force=False)
    assert isinstance(left, dict)
    assert meta(left)["labels"] == {"a": "2"}
    assert left["spec"] == {}
    managers = {m["manager"]: m["fieldsV1"] for m in cast("list[Json]", meta(left)["managedFields"])}
    assert managers == {
        "one": {"f:metadata": {"f:labels": {"f:a": {}}}},
        "two": {"f:metadata": {"f:labels": {"f:a": {}}}},
    }


async def test_an_update_takes_fields_from_their_managers(client: KubeClient) -> None:
    await apply(client, N1, {"metadata": {"labels": {"a": "1"}}}, manager="one", force=False)
    await patch(client, N1, {"metadata": {"labels": {"a": "2"}}})
    again = await apply(client, N1, {"metadata": {"labels": {"a": "1"}}}, manager="one", force=False)
    assert isinstance(again, Conflict)
    assert 'conflict with "tester"' in again.message


async def test_apply_merges_conditions_by_their_type(client: KubeClient) -> None:
    await create(client, REQUESTS, "team", a_request())
    status = Target(REQUESTS, "team", "r1", "status")

    def conditions(*types: str, value: str = "True") -> Json:
        return {"status": {"conditions": [{"type": each, "status": value} for each in types]}}

    await apply(client, status, conditions("Foreign"), manager="other", force=False)
    await apply(client, status, conditions("Accepted", "Provisioned", value="False"), manager="us", force=False)
    await apply(client, status, conditions("Provisioned"), manager="us", force=False)
    found = await get(client, R1)
    assert found is not None
    assert found["status"] == conditions("Foreign", "Provisioned")["status"]


async def test_scale_changes_replicas_at_the_version_that_was_read(client: KubeClient) -> None:
    deployment = {"metadata": {"name": "m1"}, "spec": {"replicas": 2, "template": {}}, "status": {}}
    await create(client, MACHINES, "team", deployment)
    scale = Target(MACHINES, "team", "m1", "scale")
    read = await get(client, scale)
    assert read is not None
    assert read["kind"] == "Scale"
    assert read["spec"] == {"replicas": 2}
    assert isinstance(await replace(client, scale, {**read, "spec": {"replicas": 5}}), dict)
    assert isinstance(await replace(client, scale, {**read, "spec": {"replicas": 7}}), Conflict)
    with pytest.raises(Refused, match="greater than or equal to 0"):
        await patch(client, scale, {"spec": {"replicas": -1}})
    found = await get(client, Target(MACHINES, "team", "m1"))
    assert found is not None
    assert found["spec"] == {"replicas": 5, "template": {}}


async def test_a_pod_is_bound_once(api: KubeApi, client: KubeClient) -> None:
    api.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}, "spec": {}})
    path = "/api/v1/namespaces/team/pods/p/binding"
    body = orjson.dumps({"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n1"}})
    await client.call("POST", path, body=body)
    bound = await get(client, Target(PODS, "team", "p"))
    assert bound is not None
    assert bound["spec"] == {"nodeName": "n1"}
    with pytest.raises(Refused, match="already assigned"):
        await client.call("POST", path, body=body)


async def test_lists_select_by_labels_and_fields(api: KubeApi, client: KubeClient) -> None:
    for index in range(4):
        api.put(a_node(f"n{index}", odd=str(index % 2 == 1), **({"x": "y"} if index else {})))

    async def names(**params: str) -> list[object]:
        body = orjson.loads(await client.call("GET", NODES.path, params))
        return [item["metadata"]["name"] for item in body["items"]]

    assert await names(labelSelector="odd=True") == ["n1", "n3"]
    assert await names(labelSelector="odd in (False),x") == ["n2"]
    assert await names(labelSelector="!x") == ["n0"]
    assert await names(labelSelector="odd!=True,x==y") == ["n2"]
    assert await names(fieldSelector="metadata.name=n2") == ["n2"]
    with pytest.raises(Refused, match="400"):
        await names(fieldSelector="spec.podCIDR=x")


async def test_a_watch_with_a_selector_sees_objects_come_and_go(api: KubeApi, client: KubeClient) -> None:
    start = str(api.store.revision)
    api.put(a_node("n1", a="no"))
    api.put(a_node("n1", a="yes"))
    api.put(a_node("n1", a="no"))
    told: list[tuple[bool, object]] = []
    async with aclosing(watch_changes(client, NODES, start, seconds=60, label_selector="a=yes")) as changes:
        async for each in changes:
            told += [(change.gone, meta(change.obj)["labels"]) for change in each.changes]
            if len(told) == 2:
                break
    assert told == [(False, {"a": "yes"}), (True, {"a": "yes"})]


async def test_history_that_was_compacted_is_expired_within_the_watch(api: KubeApi, client: KubeClient) -> None:
    api.put(a_node("n1"))
    api.compact()
    with pytest.raises(Expired, match="too old"):
        await anext(watch_changes(client, NODES, "1000", seconds=60))
    with pytest.raises(Expired, match="Too large"):
        await anext(watch_changes(client, NODES, "99999", seconds=60))


async def test_a_watch_ends_after_its_time(client: KubeClient) -> None:
    assert [each async for each in watch_changes(client, NODES, "1000", seconds=1)] == []


async def test_lists_of_the_servers_own_kinds_have_items_without_kind_and_custom_ones_with(
    api: KubeApi, client: KubeClient
) -> None:
    api.put(a_node("n1"))
    api.put(a_request())
    nodes = [page async for page in list_pages(client, NODES)]
    requests = [page async for page in list_pages(client, REQUESTS)]
    assert "kind" not in nodes[0].items[0]
    assert requests[0].items[0]["kind"] == "ProvisioningRequest"


async def test_discovery_says_what_is_served(tmp_path: Path) -> None:
    types = in_versions("resource.k8s.io", "v1beta1", types=without("PodGroup", "Workload"))
    wanted = (
        Wanted("ResourceSlice", "resource.k8s.io", ("v1", "v1beta1"), "resourceslices"),
        Wanted("PodGroup", "scheduling.k8s.io", ("v1beta1",), "podgroups"),
        Wanted("ProvisioningRequest", "autoscaling.x-k8s.io", ("v2",), "provisioningrequests"),
        Wanted("Pod", "", ("v1",), "pods"),
    )
    async with KubeApi(types) as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        found = await discover(client, wanted)
    served, pods = found["ResourceSlice"], found["Pod"]
    assert isinstance(served, Served)
    assert served.resource.path == "/apis/resource.k8s.io/v1beta1/resourceslices"
    assert isinstance(pods, Served)
    assert pods.resource.namespaced
    assert pods.subresources == {"status", "binding"}
    group, request = found["PodGroup"], found["ProvisioningRequest"]
    assert isinstance(group, Lacking)
    assert group.reason == "the server has no podgroups.scheduling.k8s.io"
    assert isinstance(request, Lacking)
    assert request.reason.endswith("is read in v2, and the server has v1, v1beta1 of its group")


async def test_calls_are_recorded_with_user_verb_and_subresource_and_may_be_forbidden(
    api: KubeApi, tmp_path: Path
) -> None:
    token = api.users.issue("muster")
    allowed = Permission("get", "", "nodes"), Permission("patch", "autoscaling.x-k8s.io", "provisioningrequests/status")
    api.users.grant("muster", allowed)
    api.put(a_request())
    async with KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config", token=token))) as client:
        await get(client, N1)
        await patch(client, Target(REQUESTS, "team", "r1", "status"), {"status": {}})
        assert api.users.used("muster") == set(allowed)
        with pytest.raises(Refused, match=r'403 Forbidden.*User "muster" cannot delete resource "nodes"'):
            await delete(client, N1)
    assert Permission("delete", "", "nodes") in api.users.used("muster")


async def test_objects_outlive_a_restart(api: KubeApi, client: KubeClient) -> None:
    await create(client, NODES, "", a_node("n1"))
    await api.stop()
    with pytest.raises(Unreachable):
        await get(client, N1)
    await api.start()
    assert await get(client, N1) is not None


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
async def test_kubectl_takes_it_for_a_server(tmp_path: Path) -> None:
    """A client that was not written for these tests. It sends tokens over TLS alone."""
    context, authority = certified(tmp_path)
    async with KubeApi(tls=context) as api:
        config = api.kubeconfig(tmp_path / "config", ca=authority)

        async def kubectl(*arguments: str, given: str = "") -> str:
            process = await asyncio.create_subprocess_exec(
                *("kubectl", f"--kubeconfig={config}", *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            )
            out, _ = await process.communicate(given.encode())
            assert process.returncode == 0, out.decode()
            return out.decode()

        text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}'
        await kubectl("apply", "--server-side", "--validate=false", "-f", "-", given=text)
        await kubectl("annotate", "configmap", "c", "x=y", "--field-manager=z")
        shown = orjson.loads(await kubectl("get", "configmap", "c", "-o", "json", "--show-managed-fields"))
        assert shown["data"] == {"a": "1"}
        assert [each["manager"] for each in shown["metadata"]["managedFields"]] == ["kubectl", "z"]
        assert "nodes" in await kubectl("api-resources")
        for index in range(5):
            api.put(a_node(f"n{index}", a=str(index % 2)))
        assert (await kubectl("get", "nodes", "-l", "a=1", "-o", "name")).split() == ["node/n1", "node/n3"]
        assert len((await kubectl("get", "nodes", "--chunk-size=2", "-o", "name")).split()) == 5
        await kubectl("delete", "configmap", "c")
        assert api.get("ConfigMap", "default", "c") is None
