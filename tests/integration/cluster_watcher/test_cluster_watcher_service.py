"""The watcher on a real NATS server: files in, facts out; and as a process of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from google.protobuf.message import Message
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muster.events.observed.v1 import observed_pb2
from muster_cluster_watcher.bootstrap import Built, build
from muster_cluster_watcher.settings import Settings
from muster_eventstore import Codec, Decoded, JetStreamStore
from muster_kube import ClusterDirectory, overlay_path
from muster_servicekit.runtime import Runtime
from support.nats_server import CrashingNats, store_on, wait_until

CODEC = Codec.of_modules(observed_pb2)
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\nspec: {unschedulable: %s}\n"
BAD = NODE % ("n9", "maybe")


def _settings(url: str, home: Path, **fields: object) -> Settings:
    (home / "dump").mkdir(exist_ok=True)
    return Settings.model_validate(
        {
            "nats_url": url,
            "state_dir": home / "state",
            "cluster_dirs": {"local": (home / "dump",)},
            "grpc_listen": "127.0.0.1:0",
            "poll_seconds": 0.5,
            **fields,
        }
    )


@asynccontextmanager
async def running(settings: Settings) -> AsyncGenerator[Built]:
    """The service until the block ends, begun with its first list told."""
    runtime = Runtime("cluster-watcher")
    built = await build(runtime, settings)
    task = asyncio.create_task(runtime.run())
    try:
        async with asyncio.timeout(10):
            await built.reports.wait_synced()
        yield built
    finally:
        runtime.request_stop()
        await task
    assert runtime.failure is None


async def _stream(store: JetStreamStore) -> dict[str, Message]:
    """The newest message of each subject, without the common beginning."""
    found: dict[str, Message] = {}
    async for chunk in store.read("observed"):
        for message in chunk.messages:
            decoded = CODEC.decode(message.headers, message.data)
            assert isinstance(decoded, Decoded)
            (found[message.subject.removeprefix("muster.observed.")],) = decoded.batch.events
        if not chunk.pending:
            return found
    raise AssertionError("a stream is read for ever")


async def _types(store: JetStreamStore) -> dict[str, str]:
    return {subject: type(message).__name__ for subject, message in (await _stream(store)).items()}


async def _until(store: JetStreamStore, expected: dict[str, str], deadline: float = 10.0) -> None:
    async def as_expected() -> bool:
        return expected.items() <= (await _types(store)).items()

    await wait_until(as_expected, f"the stream shows {expected}", deadline)


async def _last_sequence(store: JetStreamStore) -> int:
    return (await store.state("observed")).last_sequence


async def test_files_become_facts_and_follow_what_is_done_to_them(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    settings = _settings(streams_url, tmp_path)
    file = tmp_path / "dump" / "n1.yaml"
    file.write_text(NODE % ("n1", "false"))
    async with running(settings):
        stream = await _stream(store)
        fact = stream["local.Node.%-.n1"]
        assert isinstance(fact, observed_pb2.ObjectObserved)
        assert orjson.loads(fact.json)["spec"] == {"unschedulable": False}
        sync = stream["local.sync.directory"]
        assert isinstance(sync, observed_pb2.SyncCompleted)
        assert (sync.object_count, sync.problem_count) == (1, 0)

        (tmp_path / "dump" / "n2.yaml").write_text(NODE % ("n2", "false"))
        await _until(store, {"local.Node.%-.n2": "ObjectObserved"})

        file.write_text(NODE % ("n1", "true"))

        async def is_changed() -> bool:
            message = (await _stream(store))["local.Node.%-.n1"]
            return isinstance(message, observed_pb2.ObjectObserved) and b"true" in message.json

        await wait_until(is_changed, "the changed node is on the stream")

        file.unlink()
        await _until(store, {"local.Node.%-.n1": "ObjectRemoved"})


async def test_a_broken_file_is_an_issue_then_mended_and_the_rest_goes_on(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    settings = _settings(streams_url, tmp_path)
    (tmp_path / "dump" / "n1.yaml").write_text(NODE % ("n1", "false"))
    bad = tmp_path / "dump" / "bad.yaml"
    bad.write_text(BAD + "---\nkind: [\n---\n" + NODE % ("n2", "false"))
    async with running(settings):
        stream = await _stream(store)
        issues = {key: each for key, each in stream.items() if isinstance(each, observed_pb2.InputRejected)}
        assert sorted((issue.object, issue.field) for issue in issues.values()) == [
            ("", ""),
            ("Node/n9", "spec.unschedulable"),
        ]
        assert all(issue.source.startswith(str(bad)) for issue in issues.values())
        assert {"local.Node.%-.n1", "local.Node.%-.n2"} <= stream.keys()
        assert "local.Node.%-.n9" not in stream
        bad.write_text(NODE % ("n9", "true"))
        await _until(store, {**dict.fromkeys(issues, "InputMended"), "local.Node.%-.n9": "ObjectObserved"})


async def test_a_restart_publishes_nothing_new_and_tells_what_it_missed(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    settings = _settings(streams_url, tmp_path)
    (tmp_path / "dump" / "n1.yaml").write_text(NODE % ("n1", "false") + "---\n" + BAD)
    async with running(settings):
        pass
    before = await _last_sequence(store)
    async with running(settings):
        assert await _last_sequence(store) == before
    (tmp_path / "dump" / "n1.yaml").write_text(NODE % ("n2", "false"))
    async with running(settings):
        types = await _types(store)
        assert types["local.Node.%-.n1"] == "ObjectRemoved"
        assert types["local.Node.%-.n2"] == "ObjectObserved"
        assert "InputMended" in types.values()


async def test_what_other_services_put_into_the_overlay_is_told(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    settings = _settings(streams_url, tmp_path)
    writer = ClusterDirectory([], overlay_path(tmp_path / "state"))
    async with running(settings):
        for index in range(20):
            writer.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{index}"}})
        await _until(store, {f"local.Node.%-.n{index}": "ObjectObserved" for index in range(20)})


async def test_two_clusters_in_one_process_stand_on_subjects_of_their_own(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    for name in ("eu", "us"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(NODE % (name, "false"))
    dirs = {name: (tmp_path / name,) for name in ("eu", "us")}
    async with running(_settings(streams_url, tmp_path, clusters=("eu", "us"), cluster_dirs=dirs)):
        assert {"eu.Node.%-.eu", "us.Node.%-.us", "eu.sync.directory", "us.sync.directory"} == set(await _types(store))


async def test_a_server_that_crashes_while_objects_are_told_loses_none(
    crashing_nats: CrashingNats, tmp_path: Path
) -> None:
    settings = _settings(crashing_nats.url, tmp_path)
    async with running(settings), store_on(crashing_nats.url) as store:
        for round_ in range(2):
            names = [f"n{round_}-{index}" for index in range(300)]
            (tmp_path / "dump" / f"{round_}.yaml").write_text("---\n".join(NODE % (name, "false") for name in names))
            crashing_nats.crash_and_restart()
            # A request that was on its way is given up after 5 s and sent again, the reader's and the watcher's.
            await _until(store, {f"local.Node.%-.{name}": "ObjectObserved" for name in names}, deadline=30)


async def test_the_process_serves_health_writes_its_address_and_stops_on_sigterm(
    streams_url: str, store: JetStreamStore, tmp_path: Path
) -> None:
    (tmp_path / "n1.yaml").write_text(NODE % ("n1", "false"))
    environment = {
        **os.environ,
        "MUSTER_NATS_URL": streams_url,
        "MUSTER_STATE_DIR": str(tmp_path / "state"),
        "MUSTER_CLUSTER_DIRS": str(tmp_path / "n1.yaml"),
        "MUSTER_GRPC_LISTEN": "127.0.0.1:0",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "muster_cluster_watcher", env=environment)
    address_file = tmp_path / "state" / "run" / "cluster-watcher.json"
    try:
        await wait_until(address_file.exists, "the address file is there")
        address = orjson.loads(address_file.read_bytes())
        assert address["pid"] == process.pid
        async with aio.insecure_channel(address["grpc"]) as channel:
            health = health_pb2_grpc.HealthStub(channel)

            async def is_serving() -> bool:
                answer = await health.Check(health_pb2.HealthCheckRequest())  # pyright: ignore[reportAttributeAccessIssue] -- missing in the stubs
                return answer.status == health_pb2.HealthCheckResponse.SERVING

            await wait_until(is_serving, "the watcher is serving")
        assert (await _types(store))["local.Node.%-.n1"] == "ObjectObserved"
    finally:
        process.send_signal(signal.SIGTERM)
        status = await process.wait()
    assert status == 0
    assert not address_file.exists()


@pytest.mark.parametrize("kill", [signal.SIGKILL])
async def test_a_killed_process_goes_on_where_it_was(
    streams_url: str, store: JetStreamStore, tmp_path: Path, kill: signal.Signals
) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    for index in range(200):
        (dump / f"{index}.yaml").write_text(NODE % (f"n{index}", "false"))
    environment = {
        **os.environ,
        "MUSTER_NATS_URL": streams_url,
        "MUSTER_STATE_DIR": str(tmp_path / "state"),
        "MUSTER_CLUSTER_DIRS": str(dump),
        "MUSTER_GRPC_LISTEN": "127.0.0.1:0",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "muster_cluster_watcher", env=environment)

    async def something_is_told() -> bool:
        return await _last_sequence(store) > 0

    await wait_until(something_is_told, "a first fact is on the stream")
    process.send_signal(kill)
    await process.wait()
    async with running(_settings(streams_url, tmp_path)):
        types = await _types(store)
        assert len(types) == 201
        assert await _last_sequence(store) == 201
