"""Live clusters to the stream: a fake API server over HTTP, a real NATS server, the service between them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integration.kubernetes.following import a_node, until
from integration.kubernetes.watching import last_sequence, running, settings, shown, told, verbs, wait_shown
from muster.events.observed.v1 import observed_pb2 as pb
from muster_cluster_watcher.settings import SourceKind
from muster_eventstore import JetStreamStore
from muster_kube import KINDS
from muster_kubeapi import Json
from muster_servicekit.runtime import Runtime
from support.kube_api import KubeApi, Permission, in_versions, without, write_kubeconfig
from support.nats_server import CrashingNats, fresh_streams, store_on


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    async with KubeApi() as server:
        yield server


def a_pod(name: str, **fields: object) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team"}, "spec": {}, **fields}


def a_slice(name: str) -> Json:
    spec = {"driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "resourceSliceCount": 1}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


async def test_every_kind_is_told_and_only_what_muster_reads_of_it(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    for kind in KINDS.values():
        namespace = {"namespace": "team"} if kind.namespaced else {}
        spec = (
            {"maxSize": 4, "template": {"metadata": {}}}
            if kind.name == "NodeGroup"
            else {"somethingNew": {"of": ["1.99"]}}
        )
        api.put(
            {
                "apiVersion": kind.api_versions[0],
                "kind": kind.name,
                "metadata": {"name": "x", "managedFields": [{"manager": "m"}], **namespace},
                "spec": spec,
            }
        )
    async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
        objects = await shown(store)
    assert sorted(objects) == sorted(f"{kind}/x" for kind in KINDS)
    for name, obj in objects.items():
        assert obj["kind"] == name.partition("/")[0]
        assert obj["apiVersion"]
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        assert not {"managedFields", "resourceVersion"} & metadata.keys()
        assert name == "NodeGroup/x" or obj["spec"] == {"somethingNew": {"of": ["1.99"]}}


async def test_the_sync_counts_what_is_shown_and_comes_after_it(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    api.put(a_node("n1"))
    api.put(a_pod("p1"))
    async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
        messages = await told(store)
        assert list(messages)[-1] == "local.sync.kubernetes"
        sync = messages["local.sync.kubernetes"]
        assert isinstance(sync, pb.SyncCompleted)
        assert (sync.object_count, sync.problem_count) == (2, 0)


async def test_a_restart_goes_on_where_it_was_without_a_list(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    api.put(a_node("n1"))
    api.put(a_node("n2"))
    async with running(chosen):
        await until(lambda: any((tmp_path / "state" / "snapshots").glob("*watcher*")), "a cursor is kept")
    assert verbs(api)["list"] == len(KINDS)
    before = await last_sequence(store)
    async with running(chosen):
        assert await last_sequence(store) == before
    api.remove("Node", "", "n1")
    api.put(a_node("n3"))
    async with running(chosen):
        await wait_shown(store, ["Node/n2", "Node/n3"])
    assert "list" not in verbs(api)


async def test_a_restart_after_the_history_was_compacted_lists_and_tells_what_vanished(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    api.put(a_node("n1"))
    api.put(a_node("n2"))
    async with running(chosen):
        await until(lambda: any((tmp_path / "state" / "snapshots").glob("*watcher*")), "a cursor is kept")
    api.remove("Node", "", "n1")
    api.compact()
    async with running(chosen):
        await wait_shown(store, ["Node/n2"])
        assert isinstance((await told(store))["local.Node.%-.n1"], pb.ObjectRemoved)


async def test_a_cursor_over_a_stream_that_was_made_anew_is_worth_nothing(
    streams_url: str, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    api.put(a_node("n1"))
    async with running(chosen):
        await until(lambda: any((tmp_path / "state" / "snapshots").glob("*watcher*")), "a cursor is kept")
    await fresh_streams(streams_url)
    async with running(chosen), store_on(streams_url) as store:
        await wait_shown(store, ["Node/n1"])


async def test_another_cluster_behind_the_same_name_is_listed(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    api.put(a_node("n1"))
    async with running(chosen):
        await until(lambda: any((tmp_path / "state" / "snapshots").glob("*watcher*")), "a cursor is kept")
    async with KubeApi() as other:
        other.kubeconfig(tmp_path / "config")
        other.put(a_node("n2"))
        async with running(chosen):
            await wait_shown(store, ["Node/n2"])


async def test_a_cluster_that_was_a_directory_meanwhile_is_listed(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    api.put(a_node("n1"))
    async with running(chosen):
        await until(lambda: any((tmp_path / "state" / "snapshots").glob("*watcher*")), "a cursor is kept")
    async with running(chosen.model_copy(update={"cluster_source": SourceKind.DIRECTORY})):
        await wait_shown(store, [])
    async with running(chosen):
        await wait_shown(store, ["Node/n1"])


async def test_connections_that_break_all_the_time_a_restart_and_a_compaction_lose_nothing(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
        for round_ in range(12):
            api.faults.cut_after = 200 + 37 * round_
            api.put(a_node(f"n{round_}"))
            api.put(a_pod(f"p{round_}"))
            if round_ >= 3:
                api.remove("Node", "", f"n{round_ - 3}")
            match round_ % 4:
                case 0:
                    await api.restart()
                case 1:
                    api.compact()
                case 2:
                    api.faults.cut_now()
                case _:
                    api.faults.refuse(500, 5)
        api.faults.cut_after = None
        names = [f"{obj['kind']}/{obj['name']}" for obj in _all(api)]
        await wait_shown(store, names, deadline=60)


async def test_kinds_that_the_cluster_lacks_are_skipped_and_taken_up_when_they_come(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with KubeApi(without("NodeGroup", "PodGroup", "Workload")) as api:
        chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"), kube_rediscover=0.1)
        async with running(chosen):
            whole = await told(store)
            assert list(whole) == ["local.sync.kubernetes"]
            api.types = KubeApi().types
            api.put({**a_pod("g1"), "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"})
            await wait_shown(store, ["PodGroup/g1"])
            api.types = without("PodGroup")
            api.faults.cut_now()
            await wait_shown(store, [])


async def test_a_kind_that_a_starting_server_does_not_name_yet_keeps_its_objects(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with KubeApi() as api:
        api.put(a_node("n1"))
        api.put({**a_pod("r1"), "apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest"})
        looks = 0

        def asked_again() -> bool:
            return api.discoveries >= looks + 2

        async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
            await wait_shown(store, ["Node/n1", "ProvisioningRequest/r1"])
            before, looks = await last_sequence(store), api.discoveries
            whole, api.types = api.types, without("ProvisioningRequest")
            api.faults.cut_now()
            await until(asked_again, "the server was asked twice what it serves")
            api.types = whole
            api.put(a_node("n2"))
            await wait_shown(store, ["Node/n1", "Node/n2", "ProvisioningRequest/r1"])
            gone = [key for key, each in (await told(store)).items() if isinstance(each, pb.ObjectRemoved)]
            assert (gone, await last_sequence(store) > before) == ([], True)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
async def test_claims_and_slices_are_read_in_the_version_that_is_served(
    streams_url: str, store: JetStreamStore, tmp_path: Path, version: str
) -> None:
    async with KubeApi(in_versions("resource.k8s.io", version, types=without("DeviceTaintRule"))) as api:
        api.put({**a_slice("s1"), "apiVersion": f"resource.k8s.io/{version}"})
        async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
            found = (await shown(store))["ResourceSlice/s1"]
    assert found["apiVersion"] == f"resource.k8s.io/{version}"


async def test_the_best_version_is_read_where_several_are_served(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with KubeApi(in_versions("resource.k8s.io", "v1beta1", "v1beta2", "v1")) as api:
        api.put(a_slice("s1"))
        async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
            assert (await shown(store))["ResourceSlice/s1"]["apiVersion"] == "resource.k8s.io/v1"


async def test_pod_groups_of_kubernetes_1_36_are_told_in_the_shape_of_1_37(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    async with KubeApi(in_versions("scheduling.k8s.io", "v1alpha2")) as api:
        reference = {"workload": {"workloadName": "w1", "podGroupTemplateName": "workers"}}
        spec = {"podGroupTemplateRef": reference, "schedulingPolicy": {"gang": {"minCount": 4}}}
        group = {**a_pod("g1"), "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
        api.put({**group, "spec": {**spec, "disruptionMode": "PodGroup"}})
        async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
            found = (await shown(store))["PodGroup/g1"]
    assert found["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert found["spec"] == {
        "workloadRef": {"workloadName": "w1", "templateName": "workers"},
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "disruptionMode": {"all": {}},
    }


async def test_the_first_workload_version_is_refused(streams_url: str, store: JetStreamStore, tmp_path: Path) -> None:
    async with KubeApi(in_versions("scheduling.k8s.io", "v1alpha1")) as api:
        api.put({**a_pod("w1"), "apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload"})
        async with running(settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))):
            assert await shown(store) == {}


async def test_a_forbidden_kind_keeps_the_watcher_from_serving_until_it_is_allowed(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    """A cluster that looks empty because its pods may not be listed would be planned over."""
    token = api.users.issue("watcher")
    everything = [Permission(verb, kind.group, kind.plural) for kind in KINDS.values() for verb in ("list", "watch")]
    api.users.grant("watcher", [each for each in everything if each.resource != "pods"])
    api.put(a_node("n1"))
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config", token=token))
    async with running(chosen, wait=False):
        await until(lambda: any(call.resource == "pods" for call in api.users.calls), "pods were asked for")
        assert await last_sequence(store) == 0
        api.users.grant("watcher", everything)
        await wait_shown(store, ["Node/n1"])
    assert api.users.used("watcher") == set(everything)


async def test_a_kind_may_be_left_out_by_setting(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    api.put(a_node("n1"))
    api.put({"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {}})
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"), kube_skip="DeviceTaintRule,Workload")
    async with running(chosen):
        assert list(await shown(store)) == ["Node/n1"]
    assert not [call for call in api.users.calls if call.resource in ("devicetaintrules", "workloads")]


async def test_an_object_that_does_not_fit_a_message_is_rejected_until_it_does(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    large = a_pod("p1", status={"message": "x" * 5000})
    api.put(large)
    api.put(a_pod("p2"))
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"), fact_bytes=2000)
    async with running(chosen):
        messages = await told(store)
        (rejected,) = [each for each in messages.values() if isinstance(each, pb.InputRejected)]
        assert rejected.source == "/api/v1/pods"
        assert rejected.object == "Pod/team/p1"
        assert "a message holds 2000" in rejected.reason
        assert list(await shown(store)) == ["Pod/p2"]
    async with running(chosen):
        api.put(a_pod("p1"))
        await wait_shown(store, ["Pod/p1", "Pod/p2"])
        assert [type(each).__name__ for name, each in (await told(store)).items() if ".problem." in name] == [
            "InputMended"
        ]


async def test_node_groups_come_from_files_where_nothing_is_installed_in_the_cluster(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    groups = tmp_path / "groups.yaml"
    spec = "spec: {maxSize: 4, template: {metadata: {}}}\n"
    text = "apiVersion: muster.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: %s}\n" + spec
    groups.write_text(text % "a")
    async with KubeApi(without("NodeGroup")) as api:
        api.put(a_node("n1"))
        config = api.kubeconfig(tmp_path / "config")
        async with running(settings(streams_url, tmp_path, config, cluster_dirs=str(groups), poll_seconds=0.2)):
            await wait_shown(store, ["Node/n1", "NodeGroup/a"])
            groups.write_text(text % "b")
            await wait_shown(store, ["Node/n1", "NodeGroup/b"])


async def test_clusters_in_one_process_are_told_apart(streams_url: str, store: JetStreamStore, tmp_path: Path) -> None:
    async with KubeApi() as east, KubeApi() as west:
        config = tmp_path / "config"
        write_kubeconfig(config, {name: (each.url, "admin-token") for name, each in (("e", east), ("w", west))})
        east.put(a_node("n1"))
        west.put(a_node("n2"))
        chosen = settings(streams_url, tmp_path, config, clusters="eu,us", kube_contexts="eu=e;us=w")
        async with running(chosen):
            await wait_shown(store, ["Node/n1"], cluster="eu")
            await wait_shown(store, ["Node/n2"], cluster="us")
            west.put(a_node("n3"))
            await wait_shown(store, ["Node/n2", "Node/n3"], cluster="us")


async def test_a_cluster_without_a_server_is_waited_for(
    streams_url: str, store: JetStreamStore, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(streams_url, tmp_path, api.kubeconfig(tmp_path / "config"))
    await api.stop()
    async with running(chosen, wait=False) as built:
        api.put(a_node("n1"))
        await api.start()
        await wait_shown(store, ["Node/n1"])
        await built.reports.wait_synced()


async def test_a_context_that_does_not_exist_ends_the_start_with_a_sentence(
    streams_url: str, api: KubeApi, tmp_path: Path
) -> None:
    config = api.kubeconfig(tmp_path / "config")
    runtime = Runtime("cluster-watcher")
    from muster_cluster_watcher.bootstrap import build

    await build(runtime, settings(streams_url, tmp_path, config, kube_contexts="nowhere"))
    await runtime.run()
    assert runtime.failure is not None
    assert "CLUSTER_ACCESS" in runtime.failure
    assert str(config) in runtime.failure
    assert "'nowhere'" in runtime.failure


async def test_a_store_that_crashes_while_facts_are_told_loses_none(
    crashing_nats: CrashingNats, api: KubeApi, tmp_path: Path
) -> None:
    chosen = settings(crashing_nats.url, tmp_path, api.kubeconfig(tmp_path / "config"))
    async with running(chosen), store_on(crashing_nats.url) as store:
        for index in range(600):
            api.put(a_node(f"n{index}"))
        crashing_nats.crash_and_restart()
        await wait_shown(store, [f"Node/n{index}" for index in range(600)], deadline=40)


def _all(api: KubeApi) -> list[dict[str, object]]:
    return [
        {"kind": kind, "name": obj["metadata"]["name"]}  # pyright: ignore[reportIndexIssue] -- stored objects have metadata
        for kind in KINDS
        for obj in api.all(kind)
    ]
