"""Opens the event store of a running Muster for one command."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import uvloop

from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses
from muster_cli.live.identity import nats_address
from muster_eventstore import JetStreamStore, PermanentError, TransientError, connect

T = TypeVar("T")


@asynccontextmanager
async def open_store(addresses: Addresses) -> AsyncGenerator[JetStreamStore, None]:
    """A connected store, closed at the end."""
    client = await connect(nats_address(addresses.nats()), "muster-cli", patience=3.0)
    try:
        yield JetStreamStore(client)
    finally:
        await client.close()


def run_on_store(addresses: Addresses, use: Callable[[JetStreamStore], Awaitable[T]]) -> T:
    """Run one coroutine on the store; an absent or refusing server becomes a sentence."""

    async def run() -> T:
        async with open_store(addresses) as store:
            return await use(store)

    try:
        return uvloop.run(run())
    except TransientError as error:
        raise UserError(str(error), ExitStatus.UNREACHABLE) from error
    except PermanentError as error:
        raise UserError(str(error)) from error
