"""Repeating calls to a NATS server that may be away; shared by the parts of the JetStream adapter."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import nats.errors
from nats.aio.client import Client
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError, ServerError, ServiceUnavailableError

from muster_eventstore.errors import PermanentError, StoreClosed

T = TypeVar("T")
PAUSE = 0.05  # seconds between attempts
_TOO_MANY_REQUESTS = 429


def is_passing(error: Exception) -> bool:
    """Whether an error of nats-py says that the server is away, and not that it refuses."""
    if isinstance(error, APIError):
        return isinstance(error, ServiceUnavailableError | ServerError) or error.code == _TOO_MANY_REQUESTS
    return isinstance(error, NoStreamResponseError | nats.errors.Error) and not isinstance(
        error, nats.errors.MaxPayloadError | nats.errors.BadSubjectError
    )


async def pause(client: Client) -> None:
    """Wait before the next attempt; StoreClosed when this process has closed the connection."""
    if client.is_closed or client.is_draining:
        raise StoreClosed("the connection was closed; the outcome of the last call is unknown")
    await asyncio.sleep(PAUSE)


async def patiently(client: Client, what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Repeat an idempotent call until the server answers; PermanentError when it refuses `what`."""
    while True:
        try:
            return await call()
        except (APIError, nats.errors.Error) as error:
            if not is_passing(error):
                raise refused(what, error) from error
        await pause(client)


def refused(what: str, error: Exception) -> PermanentError:
    """The server's refusal in our words."""
    if isinstance(error, NotFoundError):
        return PermanentError("NO_STREAM", f"{what}: stream or consumer does not exist; apply the streams first")
    if isinstance(error, nats.errors.MaxPayloadError):
        return PermanentError("MESSAGE_TOO_LARGE", f"{what}: the message exceeds the server's max_payload")
    if isinstance(error, APIError):
        return PermanentError("STORE_REFUSED", f"{what}: {error.description} (JetStream error {error.err_code})")
    return PermanentError("STORE_REFUSED", f"{what}: {error}")
