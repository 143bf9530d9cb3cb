"""A resource followed over a real socket, whatever goes wrong between client and server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integration.kubernetes.following import (
    NODES,
    PODS,
    a_node,
    certified,
    following,
    quick,
    until,
    wait_for_names,
)
from muster_kubeapi import InCluster, KubeClient, KubeConfig, NotServed, Refused, Resource, Timeouts, list_pages
from support.kube_api import KubeApi, write_kubeconfig


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    async with KubeApi() as server:
        yield server


@pytest.fixture
async def client(api: KubeApi, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as opened:
        yield opened


async def test_a_list_comes_in_pages_of_one_moment(api: KubeApi, client: KubeClient) -> None:
    for index in range(7):
        api.put(a_node(f"n{index}"))
    sizes: list[int] = []
    versions: list[str] = []
    async for page in list_pages(client, NODES, limit=3):
        sizes.append(len(page.items))
        versions.append(page.version)
        api.put(a_node("late"))
    assert sizes == [3, 3, 1]
    assert versions == ["", "", "1007"]


async def test_a_continue_token_that_expires_begins_the_list_anew(api: KubeApi, client: KubeClient) -> None:
    for index in range(5):
        api.put(a_node(f"n{index}"))
    firsts = 0
    names: list[object] = []
    async for page in list_pages(client, NODES, limit=2):
        if page.first:
            firsts, names = firsts + 1, []
        names += [obj["metadata"]["name"] for obj in page.items]  # pyright: ignore[reportIndexIssue] -- has metadata
        api.compact()
    assert firsts == 3  # twice in pages, then whole
    assert names == ["n0", "n1", "n2", "n3", "n4"]


async def test_changes_follow_the_list(api: KubeApi, client: KubeClient) -> None:
    api.put(a_node("n1"))
    async with following(client) as seen:
        await until(lambda: seen.lists == 1, "the list is read")
        api.put(a_node("n2"))
        api.put(a_node("n1", changed="yes"))
        await wait_for_names(seen, api)
        api.remove("Node", "", "n1")
        await until(lambda: seen.names() == ["n2"], "the removal is told")
    assert seen.lists == 1
    assert not seen.troubles


async def test_a_bookmark_moves_the_version_and_a_later_watch_begins_there(api: KubeApi, client: KubeClient) -> None:
    async with following(client) as seen:
        await until(lambda: api.watches.open["nodes"] == 1, "the watch is open")
        for index in range(5):
            api.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{index}"}})
        api.bookmark()
        await until(lambda: seen.version == "1005", "the bookmark came")
    api.store.compact()
    async with following(client, since=seen.version) as later:
        api.put(a_node("n1"))
        await until(lambda: later.names() == ["n1"], "the change is told")
    assert later.lists == 0


async def test_a_version_that_is_too_old_leads_to_a_list(api: KubeApi, client: KubeClient) -> None:
    api.put(a_node("n1"))
    async with following(client) as seen:
        await until(lambda: seen.lists == 1, "the list is read")
        api.remove("Node", "", "n1")
        api.put(a_node("n2"))
    api.compact()
    async with following(client, since="1001") as later:
        await wait_for_names(later, api)
    assert later.lists == 1
    assert [trouble.error.args[0][:30] for trouble in later.troubles] == ["watch of nodes: 410 Expired: t"]


async def test_a_version_of_the_future_as_after_a_restored_backup_leads_to_a_list(
    api: KubeApi, client: KubeClient
) -> None:
    api.put(a_node("n1"))
    async with following(client, since="999999") as seen:
        await wait_for_names(seen, api)
    assert seen.lists == 1


@pytest.mark.parametrize("step", [1, 7, 61])
async def test_a_stream_may_be_cut_at_any_byte(api: KubeApi, client: KubeClient, step: int) -> None:
    """Each connection ends at another byte: within headers, within a line, within a character."""
    for index in range(3):
        api.put(a_node(f"n{index}"))
    async with following(client, pace=quick(page=2)) as seen:
        await until(lambda: seen.lists == 1, "the list is read")
        for round_ in range(25):
            api.faults.cut_after = 150 + round_ * step
            api.faults.cut_now()
            api.put(a_node(f"é-{round_}", round=str(round_)))
            if round_ % 3 == 0:
                api.remove("Node", "", f"é-{round_}")
            troubles, newest = len(seen.troubles), api.store.revision
            await until(
                lambda was=troubles, newest=newest: len(seen.troubles) > was or seen.version == str(newest),
                "the connection was cut, or held long enough",
            )
        api.faults.cut_after = None
        await wait_for_names(seen, api)
    assert len(seen.troubles) > 10
    assert not seen.failed


async def test_a_list_may_be_cut_at_any_byte(api: KubeApi, client: KubeClient) -> None:
    for index in range(5):
        api.put(a_node(f"n{index}"))
    for cut in (0, 1, 17, 100, 230, 400, 900):
        api.faults.cut_after = cut
        api.faults.cut_now()
        async with following(client, pace=quick(page=2)) as seen:
            await until(lambda now=seen: len(now.troubles) >= 2, "the cut was noticed")
            api.faults.cut_after = None
            await wait_for_names(seen, api)
        assert not seen.failed


async def test_a_server_that_restarts_is_found_again(api: KubeApi, client: KubeClient) -> None:
    async with following(client) as seen:
        await until(lambda: seen.lists == 1, "the list is read")
        await api.stop()
        api.put(a_node("n1"))
        await until(lambda: len(seen.troubles) >= 3, "the server is missed")
        await api.start()
        await wait_for_names(seen, api)
    assert seen.lists == 1


async def test_refusals_are_waited_out_as_long_as_the_server_asks(api: KubeApi, client: KubeClient) -> None:
    api.put(a_node("n1"))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    api.faults.refuse(429, 2, retry_after=7)
    api.faults.refuse(500, 1)
    async with following(client, pace=quick(sleep=sleep)) as seen:
        await wait_for_names(seen, api)
    assert slept[:2] == [7.0, 7.0]
    assert 0 <= slept[2] < 7


async def test_a_silent_connection_is_given_up(api: KubeApi, tmp_path: Path) -> None:
    access = KubeConfig(api.kubeconfig(tmp_path / "config"))
    async with KubeClient(access, timeouts=Timeouts(silence=0.05)) as client, following(client) as seen:
        await until(lambda: len(seen.troubles) >= 2, "silence is noticed twice")
        api.put(a_node("n1"))
        await wait_for_names(seen, api)
    assert seen.lists == 1


async def test_a_slow_server_is_waited_for(api: KubeApi, client: KubeClient) -> None:
    api.put(a_node("n1"))
    api.faults.delay = 0.3
    async with following(client) as seen:
        await wait_for_names(seen, api)
    assert not seen.troubles


async def test_a_resource_that_is_not_served_ends_the_following(client: KubeClient) -> None:
    async with following(client, Resource("example.com", "v1", "things", "Thing", False)) as seen:
        pass
    del seen
    with pytest.raises(Refused, match="404"):
        async for _ in list_pages(client, Resource("example.com", "v1", "things", "Thing", False)):
            pass


async def test_what_is_not_served_is_said_to_whoever_follows(client: KubeClient) -> None:
    things = Resource("example.com", "v1", "things", "Thing", False)
    async with following(client, things) as seen:
        await until(lambda: not seen.troubles, "nothing is tried again")
        with pytest.raises(NotServed):
            await seen.run(client, things, "", quick())


async def test_a_large_line_comes_whole(api: KubeApi, client: KubeClient) -> None:
    async with following(client) as seen:
        await until(lambda: seen.lists == 1, "the list is read")
        api.put({**a_node("n1"), "spec": {"providerID": "x" * 3_000_000}})
        await wait_for_names(seen, api)


async def test_a_token_that_rotates_in_the_kubeconfig_is_read_again(api: KubeApi, tmp_path: Path) -> None:
    config = tmp_path / "config"
    old = api.users.issue("watcher", "old")
    async with KubeClient(KubeConfig(api.kubeconfig(config, token=old))) as client:
        await client.call("GET", NODES.path)
        api.kubeconfig(config, token=api.users.issue("watcher", "new"))
        api.users.revoke(old)
        await client.call("GET", NODES.path)
    assert [call.user for call in api.users.calls] == ["watcher", "watcher"]


async def test_a_token_that_is_refused_for_good_is_said(api: KubeApi, tmp_path: Path) -> None:
    unknown = "no such token"
    async with KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config", token=unknown))) as client:
        with pytest.raises(Refused, match="401"):
            await client.call("GET", NODES.path)


async def test_a_pod_knows_its_cluster_by_its_service_account(tmp_path: Path) -> None:
    context, authority = certified(tmp_path)
    async with KubeApi(tls=context) as api:
        account = tmp_path / "account"
        account.mkdir()
        (account / "ca.crt").write_bytes(authority.read_bytes())
        (account / "token").write_text(api.users.issue("pod", "first"))
        port = api.url.rpartition(":")[2]
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        async with KubeClient(InCluster(account, environment)) as client, following(client) as seen:
            await until(lambda: seen.lists == 1, "the list is read")
            (account / "token").write_text(api.users.issue("pod", "second"))
            api.users.revoke("first")
            api.faults.cut_now()
            api.put(a_node("n1"))
            await wait_for_names(seen, api)
        assert {call.user for call in api.users.calls} == {"pod"}


async def test_contexts_of_one_kubeconfig_are_clusters_of_their_own(tmp_path: Path) -> None:
    async with KubeApi() as east, KubeApi() as west:
        config = tmp_path / "config"
        write_kubeconfig(config, {name: (each.url, "admin-token") for name, each in (("e", east), ("w", west))})
        east.put(a_node("in-the-east"))
        west.put(a_node("in-the-west"))
        async with KubeClient(KubeConfig(config, "e")) as one, KubeClient(KubeConfig(config, "w")) as other:
            async with following(one) as first, following(other) as second:
                await wait_for_names(first, east)
                await wait_for_names(second, west)
            assert await one.identity() != await other.identity()
    assert first.names() == ["in-the-east"]
    assert second.names() == ["in-the-west"]


async def test_namespaced_objects_are_followed_in_all_namespaces(api: KubeApi, client: KubeClient) -> None:
    for namespace in ("a", "b"):
        api.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"in-{namespace}", "namespace": namespace}})
    async with following(client, PODS) as seen:
        await wait_for_names(seen, api, "Pod")
    assert seen.names() == ["in-a", "in-b"]
