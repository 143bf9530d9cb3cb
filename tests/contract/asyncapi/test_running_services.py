"""A running service reads exactly the subjects that its document says, whatever reads them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from contract.asyncapi.documents import all_documents, told
from contract.cluster_source.fake import FakeSource
from muster_claim_matcher import bootstrap as claim_matcher
from muster_claim_matcher.settings import Settings as ClaimMatcherSettings
from muster_cluster_watcher import bootstrap as cluster_watcher
from muster_cluster_watcher.settings import Settings as ClusterWatcherSettings
from muster_eventstore import Chunk, ConsumerSpec, FileSnapshots, Inbox, MemoryServer, MemoryStore, event_filter
from muster_gang_coordinator import bootstrap as gang_coordinator
from muster_gang_coordinator.adapters.cluster_directory import DirectoryCluster
from muster_gang_coordinator.settings import Settings as GangCoordinatorSettings
from muster_inventory import bootstrap as inventory
from muster_inventory.settings import Settings as InventorySettings
from muster_provisioner import bootstrap as provisioner
from muster_provisioner.settings import Settings as ProvisionerSettings
from muster_servicekit.clock import SystemClock
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

LOCAL = ClusterId("local")
DEADLINE = 10.0
DOCUMENTS = all_documents()


class RecordingStore(MemoryStore):
    """Keeps the filters with which it was read. Replays of parked messages are nobody's channel."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.filters: set[str] = set()
        self.changed = asyncio.Event()

    async def read(self, stream: str, subjects: Sequence[str] = (), after: int = 0) -> AsyncGenerator[Chunk, None]:
        self._note(stream, subjects)
        async with aclosing(super().read(stream, subjects, after)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def open_inbox(self, spec: ConsumerSpec) -> Inbox:
        self._note(spec.stream, spec.subjects)
        return await super().open_inbox(spec)

    def _note(self, stream: str, subjects: Sequence[str]) -> None:
        if stream != "replays":
            self.filters |= {_any_cluster(each) for each in subjects or [event_filter(stream)]}
        self.changed.set()


def _any_cluster(subject: str) -> str:
    """The filter with any cluster in place of the one that the test serves, in its shortest form."""
    tokens = ["*" if token == LOCAL else token for token in subject.split(".")]
    while tokens[-2:] == ["*", ">"]:
        del tokens[-2]
    return ".".join(tokens)


async def _inventory(runtime: Runtime, store: MemoryStore, state: Path) -> object:
    return await inventory.assemble(runtime, InventorySettings(state_dir=state, grpc_listen=ANY), store, SystemClock())


async def _claim_matcher(runtime: Runtime, store: MemoryStore, state: Path) -> object:
    settings = ClaimMatcherSettings(state_dir=state, grpc_listen=ANY)
    return await claim_matcher.assemble(runtime, settings, store, SystemClock(), snapshots=FileSnapshots(state))


async def _gang_coordinator(runtime: Runtime, store: MemoryStore, state: Path) -> object:
    settings = GangCoordinatorSettings(state_dir=state, grpc_listen=ANY)
    return await gang_coordinator.assemble(runtime, settings, store, SystemClock(), writes=DirectoryCluster({}))


async def _provisioner(runtime: Runtime, store: MemoryStore, state: Path) -> object:
    settings = ProvisionerSettings(state_dir=state, grpc_listen=ANY)
    return await provisioner.assemble(
        runtime, settings, store, SystemClock(), drivers={}, snapshots=FileSnapshots(state)
    )


async def _cluster_watcher(runtime: Runtime, store: MemoryStore, state: Path) -> object:
    settings = ClusterWatcherSettings(state_dir=state, grpc_listen=ANY)
    return await cluster_watcher.assemble(runtime, settings, store, SystemClock(), sources={LOCAL: FakeSource()})


ANY = "127.0.0.1:0"
SERVICES: Mapping[str, tuple[str, Callable[[Runtime, MemoryStore, Path], Awaitable[object]]]] = {
    "inventory": ("inventory", _inventory),
    "claim-matcher": ("claims", _claim_matcher),
    "gang-coordinator": ("gangs", _gang_coordinator),
    "provisioner": ("provisioning", _provisioner),
    "cluster-watcher": ("observed", _cluster_watcher),
}


@pytest.mark.parametrize("service", SERVICES)
async def test_a_running_service_reads_the_subjects_of_its_document_and_its_own_stream(
    service: str, tmp_path: Path
) -> None:
    own, assemble = SERVICES[service]
    documented = {t.address for t in told(service, DOCUMENTS[service]) if t.action == "receive"}  # type: ignore[index] -- a StrEnum's value
    store = RecordingStore(MemoryServer(SystemClock().now))
    runtime = Runtime(service, grace=1)
    await assemble(runtime, store, tmp_path)
    running = asyncio.create_task(runtime.run())
    try:
        async with asyncio.timeout(DEADLINE):
            while not documented <= store.filters:
                store.changed.clear()
                await store.changed.wait()
    except TimeoutError:
        pass  # the comparison below tells what is missing
    finally:
        runtime.request_stop()
        await running
    assert runtime.failure is None
    assert {each for each in store.filters if not each.startswith(f"muster.{own}.")} == documented
    assert any(each.startswith(f"muster.{own}.") for each in store.filters)
