"""What "acknowledged means on disk" costs: `python -m bench.durability.measure` with `tests` on the path.

One server, one writer that waits for each acknowledgement, and many at once; with the flush at every commit, which is
what Muster runs with, and with the server's default, by which a machine's crash may lose the last two minutes.
"""

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from muster_eventstore import NatsAddress, apply_streams, connect
from muster_servicekit.embedded_nats import EmbeddedNats

_APPENDS, _SIDE_BY_SIDE, _BYTES = 1_000, 20_000, 1_024
_INTERVALS = ("always", "2m")


def main() -> None:
    table = Table("sync_interval", "p50 µs", "p99 µs", "one after the other /s", "side by side /s")
    with tempfile.TemporaryDirectory() as folder:
        for interval in _INTERVALS:
            table.add_row(interval, *uvloop.run(_measure(Path(folder) / interval, interval)))
    load = os.getloadavg()[0]
    Console(width=110).print(table, f"messages of {_BYTES} bytes; {os.cpu_count()} cores, load {load:.1f}")


async def _measure(home: Path, interval: str) -> tuple[str, ...]:
    async with EmbeddedNats(home, sync=interval) as server:
        client = await connect(NatsAddress(server.url), "bench")
        try:
            await apply_streams(client)
            js, body = client.jetstream(), b"x" * _BYTES
            took: list[float] = []
            begun = time.perf_counter()
            for number in range(_APPENDS):
                start = time.perf_counter()
                await js.publish(f"muster.gangs.bench.gang.{number}", body)
                took.append(time.perf_counter() - start)
            single = _APPENDS / (time.perf_counter() - begun)
            begun = time.perf_counter()
            for first in range(0, _SIDE_BY_SIDE, 500):
                numbers = range(first, first + 500)
                await asyncio.gather(*(js.publish(f"muster.gangs.bench.many.{each}", body) for each in numbers))
            many = _SIDE_BY_SIDE / (time.perf_counter() - begun)
        finally:
            await client.close()
    cuts = statistics.quantiles(took, n=100)
    return (f"{1e6 * cuts[49]:,.0f}", f"{1e6 * cuts[98]:,.0f}", f"{single:,.0f}", f"{many:,.0f}")


if __name__ == "__main__":
    main()
