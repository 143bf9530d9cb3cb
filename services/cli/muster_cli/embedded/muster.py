"""Muster in one process: NATS with file-backed JetStream, all five services, the simulated cloud and scheduler."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import orjson
import structlog

from muster_claim_matcher import bootstrap as claim_matcher
from muster_claim_matcher.settings import Settings as ClaimMatcherSettings
from muster_cli.simulation.scheduler import SimulatedScheduler
from muster_cluster_watcher import bootstrap as cluster_watcher
from muster_cluster_watcher.settings import Settings as ClusterWatcherSettings
from muster_cluster_watcher.settings import SourceKind as WatcherSource
from muster_eventstore import NatsAddress, apply_streams, connect
from muster_gang_coordinator import bootstrap as gang_coordinator
from muster_gang_coordinator.settings import Settings as GangCoordinatorSettings
from muster_gang_coordinator.settings import SourceKind as CoordinatorSource
from muster_inventory import bootstrap as inventory
from muster_inventory.settings import Settings as InventorySettings
from muster_provisioner import bootstrap as provisioner
from muster_provisioner.settings import Settings as ProvisionerSettings
from muster_provisioner.settings import SourceKind as ProvisionerSource
from muster_servicekit.embedded_nats import EmbeddedNats
from muster_servicekit.runtime import Runtime

log = structlog.get_logger("muster.up")


@dataclass(frozen=True, slots=True)
class Options:
    """`load` are the dumps that make up the cluster; `state` keeps everything else between runs."""

    state: Path
    load: Sequence[Path]
    cluster: str
    seed: int


class _Shared(TypedDict):
    """Settings that every service gets."""

    nats_url: str
    state_dir: Path
    clusters: tuple[str, ...]
    grpc_listen: str
    lease_seconds: int


class _NoCluster(TypedDict):
    """Together with the source DIRECTORY: keeps a service from a live cluster, whatever stands in the environment."""

    kubeconfig: None
    kube_contexts: dict[str, str]


NO_CLUSTER = _NoCluster(kubeconfig=None, kube_contexts={})
Started = Callable[[str], Awaitable[None]]


async def run_embedded(options: Options, on_started: Started) -> int:
    """Run until SIGINT or SIGTERM; the exit status. `on_started` is told the NATS address once everything serves."""
    options.state.mkdir(parents=True, exist_ok=True)
    async with EmbeddedNats(options.state / "nats") as nats:
        client = await connect(NatsAddress(nats.url), "muster-up")
        try:
            await apply_streams(client)
        finally:
            await client.close()
        with _Announced(options.state, nats.url):
            return await _run_services(options, nats.url, on_started)


class _Announced:
    """`<state>/run/nats.json`, by which other commands of this machine find the server."""

    def __init__(self, state: Path, url: str) -> None:
        self._path = state / "run" / "nats.json"
        self._url = url

    def __enter__(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(orjson.dumps({"url": self._url, "pid": os.getpid()}))

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)


async def _run_services(options: Options, nats_url: str, on_started: Started) -> int:
    shared = _Shared(
        nats_url=nats_url,
        state_dir=options.state,
        clusters=(options.cluster,),
        grpc_listen="127.0.0.1:0",
        lease_seconds=0,  # one process, one server of its own: nobody else can write
    )
    runtimes: list[Runtime] = []

    def runtime(name: str) -> Runtime:
        runtimes.append(Runtime(name))
        return runtimes[-1]

    dirs = {options.cluster: tuple(options.load)}
    await inventory.build(runtime("inventory"), InventorySettings(**shared))
    matcher = await claim_matcher.build(runtime("claim-matcher"), ClaimMatcherSettings(**shared))
    await gang_coordinator.build_on(
        runtime("gang-coordinator"),
        GangCoordinatorSettings(
            **shared,
            **NO_CLUSTER,
            cluster_source=CoordinatorSource.DIRECTORY,
            cluster_dirs=dirs,
            claim_matcher_address=matcher.grpc_address,
        ),
    )
    await provisioner.build(
        runtime("provisioner"),
        ProvisionerSettings(
            **shared,
            **NO_CLUSTER,
            cluster_source=ProvisionerSource.DIRECTORY,
            externalgrpc_config={},
            seed=options.seed,
        ),
    )
    watcher = await cluster_watcher.build(
        runtime("cluster-watcher"),
        ClusterWatcherSettings(
            **shared, **NO_CLUSTER, cluster_source=WatcherSource.DIRECTORY, cluster_dirs=dirs, poll_seconds=1.0
        ),
    )
    scheduler = runtime("simulated-scheduler")
    scheduler.supervise("bind", SimulatedScheduler(options.load, options.state).run)

    async def announce() -> None:
        await watcher.reports.wait_synced()
        await on_started(nats_url)

    runtimes[-2].on_ready(announce)
    return await _until_stopped(runtimes)


async def _until_stopped(runtimes: Sequence[Runtime]) -> int:
    """All run until one fails or a signal comes; then they stop in reverse order of their start."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stopping.set)
    running = {runtime: asyncio.create_task(runtime.run(), name=runtime.name) for runtime in runtimes}
    ended = asyncio.create_task(stopping.wait())
    await asyncio.wait([ended, *running.values()], return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    for runtime in reversed(runtimes):
        runtime.request_stop()
        await asyncio.wait([running[runtime]])
    failures = [f"{runtime.name}: {runtime.failure}" for runtime in runtimes if runtime.failure]
    for failure in failures:
        sys.stderr.write(f"muster: {failure}\n")
    return 1 if failures else 0
