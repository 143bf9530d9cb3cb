"""A real NATS server for tests, and one that can be killed and brought back on the same port and store."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from muster_eventstore import JetStreamStore, NatsAddress, apply_streams, connect
from muster_servicekit.embedded_nats import EmbeddedNats


async def wait_until(condition: Callable[[], bool | Awaitable[bool]], what: str, deadline: float = 10.0) -> None:
    """Wait for a named condition; fail with its name after `deadline` seconds."""
    try:
        async with asyncio.timeout(deadline):
            while True:
                answer = condition()
                if answer if isinstance(answer, bool) else await answer:
                    return
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"after {deadline:g} s still not: {what}") from None


@asynccontextmanager
async def store_on(url: str, name: str = "test", **options: float) -> AsyncGenerator[JetStreamStore, None]:
    """A connected store; the connection is closed at the end."""
    client = await connect(NatsAddress(url), name)
    try:
        yield JetStreamStore(client, **options)  # pyright: ignore[reportArgumentType] -- times, by name
    finally:
        await client.close()


async def fresh_streams(url: str) -> None:
    """Delete every stream of the server and make those of the system anew."""
    client = await connect(NatsAddress(url), "fresh-streams")
    try:
        js = client.jetstream()
        names = [str(info.config.name) for info in await js.streams_info()]
        await asyncio.gather(*map(js.delete_stream, names))
        await apply_streams(client)
    finally:
        await client.close()


class CrashingNats(EmbeddedNats):
    """A server that tests crash."""

    def crash_and_restart(self) -> None:
        """SIGKILL, then start on the same port and store."""
        self.kill()
        self.start()


def now() -> datetime:
    """Wall clock of tests that need a real one."""
    return datetime.now(UTC)
