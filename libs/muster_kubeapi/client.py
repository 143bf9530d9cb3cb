"""Calls to one API server as bytes over aiohttp: connections, credentials that rotate, errors."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp

from muster_kubeapi.access import Access, Credentials, InCluster, load
from muster_kubeapi.errors import AccessInvalid, Status, Unreachable

_READ_BUFFER = 2**20
_NO_PARAMS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. `connect` for a connection, `answer` between two reads of an ordinary answer, `silence` between two
    reads of a watch: servers send a bookmark a minute, so a longer silence is a connection that is dead."""

    connect: float = 10.0
    answer: float = 60.0
    silence: float = 150.0
    # A pod's token is renewed on disk well before its end; a kubeconfig may run a plugin, so it is read less often.
    reread_account: float = 60.0
    reread_kubeconfig: float = 600.0


class KubeClient:
    """One cluster. Use it as an async context manager, or close it with `aclose`."""

    def __init__(self, access: Access, *, agent: str = "muster", timeouts: Timeouts | None = None) -> None:
        self._access = access
        self._agent = agent
        self.timeouts = timeouts or Timeouts()
        self._credentials: Credentials | None = None
        self._read_at = 0.0
        self._session: aiohttp.ClientSession | None = None
        self._loading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; running calls end with Unreachable."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def identity(self) -> str:
        """What tells this cluster from another one. Raises AccessInvalid."""
        return (await self._current()).identity

    async def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] = _NO_PARAMS,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        """The body of a successful answer. Raises Unreachable, Refused, Expired, AccessInvalid."""
        async with self._answer(method, path, params, body, content_type, self.timeouts.answer) as response:
            try:
                return await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable(method, path, error) from error

    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """The body of an answer piece by piece as it arrives, until the server ends it. Raises as `call`."""
        async with self._answer("GET", path, params, None, "", self.timeouts.silence) as response:
            try:
                async for piece in response.content.iter_any():
                    yield piece
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable("GET", path, error) from error

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, params: Mapping[str, str], body: bytes | None, content_type: str, silence: float
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """A successful answer, whose body is still to be read; a rotated credential is noticed by a 401."""
        credentials = await self._current()
        response = await self._send(credentials, method, path, params, body, content_type, silence)
        try:
            if response.status == 401:
                response.release()
                renewed = await self._current(newer_than=credentials)
                response = await self._send(renewed, method, path, params, body, content_type, silence)
            if response.status >= 300:
                raise await _error(method, path, response)
            yield response
        finally:
            response.release()  # closes a connection on which something is left to read

    async def _send(
        self,
        credentials: Credentials,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        silence: float,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": self._agent}
        if credentials.authorization:
            headers["Authorization"] = credentials.authorization
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            return await self._session_of(credentials).request(
                method,
                credentials.url + path,
                params=params or None,
                data=body,
                headers=headers,
                proxy=credentials.proxy or None,
                server_hostname=credentials.server_name or None,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.timeouts.connect, sock_read=silence),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(method, path, error) from error
        except RuntimeError as error:  # aiohttp's word for a session that was closed meanwhile
            if self._session is not None and not self._session.closed:
                raise
            raise Unreachable(f"{method} {path}: the connection was closed") from error

    def _session_of(self, credentials: Credentials) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ssl=credentials.tls.context())
            self._session = aiohttp.ClientSession(
                connector=connector, read_bufsize=_READ_BUFFER, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def _current(self, newer_than: Credentials | None = None) -> Credentials:
        """The credentials, read again when they are old, or when a server has refused `newer_than`."""
        async with self._loading:
            held, timeouts = self._credentials, self.timeouts
            keep = timeouts.reread_account if isinstance(self._access, InCluster) else timeouts.reread_kubeconfig
            fresh = time.monotonic() - self._read_at < keep
            if held is not None and fresh and held is not newer_than:
                return held
            try:
                read = await load(self._access)
            except AccessInvalid:
                if held is None or newer_than is not None:
                    raise
                read = held  # a file that is being replaced; what worked so far is tried on
            self._read_at = time.monotonic()
            if held is not None and read.tls != held.tls and self._session is not None:
                # Streams on the old certificate end and begin again where they were.
                await self._session.close()
                self._session = None
            self._credentials = read
            return read


def _unreachable(method: str, path: str, error: Exception) -> Unreachable:
    return Unreachable(f"{method} {path}: {type(error).__name__}: {error}".removesuffix(": "))


async def _error(method: str, path: str, response: aiohttp.ClientResponse) -> Exception:
    try:
        body = await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return _unreachable(method, path, error)
    after = response.headers.get("Retry-After", "")
    return Status.read(response.status, body).error(f"{method} {path}", float(after) if after.isdecimal() else 0.0)
