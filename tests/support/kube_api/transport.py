"""Connections that can be cut at any byte of what the server sends."""

import asyncio
from collections.abc import Callable, Iterable
from typing import cast

from support.kube_api.faults import Faults


class Cut(asyncio.Transport):
    """A transport that counts what is written, and is aborted at the byte that `faults` says."""

    def __init__(self, inner: asyncio.Transport, faults: Faults) -> None:
        super().__init__()
        self._inner = inner
        self._faults = faults
        self._sent = 0

    def __getattribute__(self, name: str) -> object:
        if name.startswith("_") or name in ("write", "writelines"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_inner"), name)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        limit = self._faults.cut_after
        if limit is None:
            self._inner.write(data)
            return
        left = max(0, limit - self._sent)
        self._inner.write(bytes(data)[:left])
        self._sent += len(data)
        if len(data) > left:
            # What was written before must leave first; an abort would throw it away.
            self._faults.connections.discard(self._inner)
            self._inner.close()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))


class Watched(asyncio.Protocol):
    """An HTTP protocol whose transport is `Cut`."""

    def __init__(self, inner: asyncio.Protocol, faults: Faults) -> None:
        self._protocol = inner
        self._faults = faults
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._faults.connections.add(self._transport)
        self._protocol.connection_made(Cut(self._transport, self._faults))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._faults.connections.discard(self._transport)
        self._protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


def watched(make: Callable[[], asyncio.Protocol], faults: Faults) -> Callable[[], Watched]:
    """A protocol factory with faults."""
    return lambda: Watched(make(), faults)
