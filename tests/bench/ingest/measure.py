"""Ingest of a live cluster: `python -m bench.ingest.measure [--nodes N] [--rate R]` with `tests` on the path.

A fake API server, a NATS server that flushes every commit, and the watcher, each a process of its own on this machine.
Wall clock from the start of the watcher's process, its CPU time, its peak of resident memory; and how long after a
change its fact is on the stream.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

import orjson
import uvloop
from rich.console import Console
from rich.table import Table

from bench.ingest.processes import Measured
from muster.events.observed.v1 import observed_pb2
from muster_eventstore import Codec, Decoded, JetStreamStore, NatsAddress, StoredMessage, apply_streams, connect
from muster_servicekit.embedded_nats import EmbeddedNats

_DEADLINE = 900.0
_SYNC = "muster.observed.local.sync.kubernetes"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; `seconds` of wall clock, `cpu` seconds of the watcher."""

    what: str
    facts: int
    seconds: float
    cpu: float
    peak_mib: float
    remarks: str

    def cells(self) -> tuple[str, ...]:
        """For the table."""
        figures = (f"{self.facts:,}", f"{self.seconds:.2f}", f"{self.facts / self.seconds:,.0f}")
        per_cpu = f"{self.facts / self.cpu:,.0f}" if self.cpu else "-"
        return (self.what, *figures, f"{self.cpu:.2f}", per_cpu, f"{self.peak_mib:,.0f}", self.remarks)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000, help="with two slices and four pods each")
    parser.add_argument("--rate", type=int, default=500, help="changes a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of changes")
    parser.add_argument("--burst", type=int, default=20_000, help="changes at once, of as many pods")
    options = parser.parse_args(argv)
    rows = uvloop.run(_measure(options.nodes, options.rate, options.seconds, options.burst))
    table = Table("what", "facts", "seconds", "facts/s", "CPU s", "facts/CPU s", "peak MiB", "remarks")
    for row in rows:
        table.add_row(*row.cells())
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    Console(width=150).print(table, f"{options.nodes} nodes; {os.cpu_count()} cores, load {load}")


@dataclass(slots=True)
class Bench:
    """The three processes."""

    stack: ExitStack
    folder: Path
    nats_url: str
    store: JetStreamStore
    api: Measured

    def start_watcher(self) -> Measured:
        """The service as it is deployed."""
        environment = {
            "MUSTER_NATS_URL": self.nats_url,
            "MUSTER_STATE_DIR": str(self.folder / "state"),
            "MUSTER_CLUSTER_SOURCE": "kubernetes",
            "MUSTER_KUBECONFIG": str(self.folder / "config"),
            "MUSTER_GRPC_LISTEN": "127.0.0.1:0",
        }
        log = self.folder / "watcher.log"
        return Measured(self.stack, "-m", "muster_cluster_watcher", log=log, environment=environment)

    async def last(self) -> int:
        """The last sequence of the stream."""
        return (await self.store.state("observed")).last_sequence

    async def from_empty(self) -> tuple[Row, Measured]:
        """All objects, from the start of the process to the sync on the stream."""
        begun = time.monotonic()
        watcher = self.start_watcher()
        while await self.store.last(_SYNC) is None:
            assert time.monotonic() - begun < _DEADLINE, (self.folder / "watcher.log").read_text()
            await asyncio.sleep(0.02)
        took = time.monotonic() - begun
        remarks = f"{(await self.ask('calls'))[0]} calls of lists"
        return Row("from empty", await self.last(), took, watcher.cpu(), watcher.peak_mib(), remarks), watcher

    async def changes(self, watcher: Measured, what: str, rate: int, seconds: float) -> Row:
        """Changes of different pods, until each is on the stream; how late they were."""
        start, cpu, wanted = await self.last(), watcher.cpu(), round(10 * seconds) * max(1, rate // 10)
        begun, late, codec = time.monotonic(), list[float](), Codec.of_modules(observed_pb2)
        asked = asyncio.create_task(self.ask(f"change {rate} {seconds}"))
        async with aclosing(self.store.read("observed", after=start)) as chunks:
            async for chunk in chunks:
                now = time.time()
                late += [now - noted for message in chunk.messages if (noted := _noted(codec, message))]
                if len(late) >= wanted:
                    break
                assert time.monotonic() - begun < _DEADLINE, f"{len(late)} of {wanted} changes are on the stream"
        took, spent = time.monotonic() - begun, watcher.cpu() - cpu
        await asked
        late.sort()
        half, most = (1000 * late[int(len(late) * share)] for share in (0.5, 0.99))
        remarks = f"told {half:,.0f} ms (p50), {most:,.0f} ms (p99) after the change"
        return Row(f"{what}, {wanted:,} changes", len(late), took, spent, watcher.peak_mib(), remarks)

    async def after_a_crash(self, watcher: Measured) -> Row:
        """Until the first change after the start is told."""
        watcher.kill()
        await self.ask("calls")
        before, begun = await self.last(), time.monotonic()
        again = self.start_watcher()
        row = await self.changes(again, "after a crash", 10, 0.1)
        lists, _ = await self.ask("calls")
        remarks = f"{lists} calls of lists, {await self.last() - before} messages"
        return Row(row.what, row.facts, time.monotonic() - begun, again.cpu(), again.peak_mib(), remarks)

    async def ask(self, wish: str) -> list[str]:
        """The API server's process."""
        return await asyncio.to_thread(self.api.ask, wish)


async def _measure(nodes: int, rate: int, seconds: float, burst: int) -> list[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nats = stack.enter_context(EmbeddedNats(folder / "nats"))
        client = await connect(NatsAddress(nats.url), "bench")
        try:
            await apply_streams(client)
            config = folder / "config"
            serve = ("-m", "bench.ingest.serve", str(nodes), str(config))
            api = Measured(stack, *serve, log=folder / "api.log")
            await _until(config.exists, "the API server has its objects", folder / "api.log")
            bench = Bench(stack, folder, nats.url, JetStreamStore(client), api)
            first, watcher = await bench.from_empty()
            return [
                first,
                await bench.changes(watcher, "steady", rate, seconds),
                await bench.changes(watcher, "at once", 10 * burst, 0.1),
                await bench.after_a_crash(watcher),
            ]
        finally:
            await client.close()


def _noted(codec: Codec, message: StoredMessage) -> float | None:
    """When the API server made the change, which stands in the pod."""
    decoded = codec.decode(message.headers, message.data)
    assert isinstance(decoded, Decoded)
    for event in decoded.batch.events:
        if isinstance(event, observed_pb2.ObjectObserved) and event.object.kind == "Pod":
            note = orjson.loads(event.json)["metadata"]["annotations"]["bench/note"]
            return float(note) if note else None
    return None


async def _until(condition: Callable[[], bool], what: str, log: Path) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < _DEADLINE, f"still not: {what}; see {log}"
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    main()
