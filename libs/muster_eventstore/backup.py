"""Copies of streams in files, by the server's snapshot and restore calls (JetStream API, ADR-2).

A copy is consistent in itself: the server takes it at one moment, with the positions of the durable consumers. Streams
are copied one after the other, so stop the services first where all must be of one moment.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from muster_eventstore.errors import PermanentError, TransientError

_CHUNK = 128 * 1024
_PATIENCE = 30.0  # seconds for each answer and each chunk
_DATA, _CONFIG = "stream.tar.s2", "stream.json"


@dataclass(frozen=True, slots=True)
class Copied:
    """One stream in files, or out of them again."""

    stream: str
    messages: int
    bytes: int


async def backup_stream(client: Client, stream: str, folder: Path, told: Callable[[int], None]) -> Copied:
    """Write the stream into `folder`/`stream`; `told` hears of each chunk's bytes.

    Raises PermanentError for an unknown stream or a folder that holds a copy, TransientError when the server is silent.
    """
    home = folder / stream
    if (home / _CONFIG).exists():
        raise PermanentError("BACKUP_EXISTS", f"{home} holds a copy already; choose another directory")
    home.mkdir(parents=True, exist_ok=True)
    inbox = client.new_inbox()
    chunks: Subscription = await client.subscribe(inbox)
    try:
        wish = {"deliver_subject": inbox, "chunk_size": _CHUNK, "jsck": True, "no_consumers": False}
        answer = await _ask(client, f"$JS.API.STREAM.SNAPSHOT.{stream}", wish)
        total = 0
        with (home / _DATA).open("wb") as out:
            async for chunk in _chunks(chunks, stream):
                await asyncio.to_thread(out.write, chunk.data)
                total += len(chunk.data)
                told(len(chunk.data))
                if chunk.reply:
                    await client.publish(chunk.reply, b"")
    finally:
        await chunks.unsubscribe()
    # Last: without it the copy does not count.
    (home / _CONFIG).write_text(json.dumps({"config": answer["config"], "state": answer["state"]}, indent=1))
    return Copied(stream, _messages(answer), total)


async def restore_stream(client: Client, folder: Path, told: Callable[[int], None]) -> Copied:
    """Make the stream of `folder` again, with its messages, their sequences, and its consumers.

    Raises PermanentError when the stream exists or the copy is not whole, TransientError when the server is silent.
    """
    try:
        kept = json.loads((folder / _CONFIG).read_text())
        data = (folder / _DATA).open("rb")
    except (OSError, ValueError) as error:
        raise PermanentError("BACKUP_UNUSABLE", f"{folder} is no whole copy of a stream: {error}") from error
    name = str(kept["config"]["name"])
    with data:
        answer = await _ask(client, f"$JS.API.STREAM.RESTORE.{name}", kept)
        subject, total = str(answer["deliver_subject"]), 0
        while chunk := await asyncio.to_thread(data.read, _CHUNK):
            await _request(client, subject, chunk)
            total += len(chunk)
            told(len(chunk))
        final = _read(await _request(client, subject, b""))
    return Copied(name, _messages(final), total)


def copies_in(folder: Path) -> list[Path]:
    """The whole copies below a folder, by name of the stream."""
    return sorted(path.parent for path in folder.glob(f"*/{_CONFIG}"))


async def _chunks(subscription: Subscription, stream: str) -> AsyncGenerator[Msg]:
    """Until the empty one that ends a snapshot; its status tells of a failure on the way."""
    while True:
        try:
            message = await subscription.next_msg(timeout=_PATIENCE)
        except TimeoutError:
            raise TransientError(f"stream {stream!r}: the server sends no more of its copy; try again") from None
        if not message.data:
            status = (message.headers or {}).get("Status", "204")
            if status not in ("204", ""):
                raise TransientError(f"stream {stream!r}: the copy broke off with status {status}; try again")
            return
        yield message


async def _ask(client: Client, subject: str, wish: object) -> dict[str, object]:
    return _read(await _request(client, subject, json.dumps(wish).encode()))


async def _request(client: Client, subject: str, body: bytes) -> Msg:
    with contextlib.suppress(TimeoutError):
        return await client.request(subject, body, timeout=_PATIENCE)
    raise TransientError(f"no answer to {subject} within {_PATIENCE:g} s")


def _read(message: Msg) -> dict[str, object]:
    answer = cast("dict[str, object]", json.loads(message.data or b"{}"))
    error = answer.get("error")
    if isinstance(error, dict):
        told = cast("dict[str, object]", error)
        raise PermanentError("REFUSED", f"the server refuses: {told.get('description')} (code {told.get('err_code')})")
    return answer


def _messages(answer: dict[str, object]) -> int:
    state = answer.get("state")
    messages = cast("dict[str, object]", state).get("messages") if isinstance(state, dict) else None
    return messages if isinstance(messages, int) else 0
