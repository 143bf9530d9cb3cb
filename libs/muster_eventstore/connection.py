"""One NATS connection per process, with the options that survive a server restart (nats-py's defaults do not)."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import nats.errors
import structlog
from nats.aio.client import Client

from muster_eventstore.errors import TransientError

log = structlog.get_logger("muster.nats")
_listeners: WeakKeyDictionary[Client, set[Callable[[], None]]] = WeakKeyDictionary()


def listen_reconnects(client: Client, listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` whenever the connection was lost and is there again; the function returned ends that."""
    listeners = _listeners.setdefault(client, set())
    listeners.add(listener)
    return lambda: listeners.discard(listener)


@dataclass(frozen=True, slots=True)
class NatsAddress:
    """Where the server is and how to prove who we are; certificates are PEM files."""

    url: str
    credentials: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context, when any file of it is given."""
        if self.ca is None and self.certificate is None:
            return None
        context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
        if self.certificate is not None:
            context.load_cert_chain(str(self.certificate), None if self.key is None else str(self.key))
        return context


class FastClient(Client):
    """nats-py's client with its header parser made fast: 12 headers a message took 20 µs, half of a replay's time.

    Should nats-py rename the method, this one is not called, and only the speed is lost.
    """

    async def close(self) -> None:
        """Close; what was not sent yet is not sent when the server is away."""
        if not self.is_connected:
            self._pending, self._pending_data_size = [], 0
        try:
            await super().close()
        except (OSError, RuntimeError) as error:
            # The socket went a moment ago, and nats-py writes into it (uvloop: RuntimeError "the handler is closed").
            log.info("nats connection closed without its last messages", error=str(error))

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in raw.decode("utf-8", "replace").split("\r\n"):
            name, colon, value = line.partition(":")
            key = name.strip()
            # As the original does: no header without a colon, or with a name that is no token.
            if colon and key.isascii() and len(key.split(None, 1)) <= 1:
                headers[key] = value.strip()
        return headers


async def connect(address: NatsAddress, name: str, *, patience: float = 10.0) -> Client:
    """Connect, waiting up to `patience` seconds for the server; later losses are mended without end.

    Raises TransientError naming the address when no server answers.
    """

    client = FastClient()

    told = ""
    met = False

    async def on_error(error: Exception) -> None:
        nonlocal told
        text = str(error) or type(error).__name__
        if met and text != told:  # ten attempts a second while the server is away; at the start the caller is told
            log.warning("nats connection error", error=text)
        told = text

    async def on_disconnect() -> None:
        if not (client.is_closed or client.is_draining):
            log.warning("nats connection lost")

    async def on_reconnect() -> None:
        nonlocal told
        told = ""
        log.info("nats connection restored")
        for listener in tuple(_listeners.get(client, ())):
            listener()

    try:
        async with asyncio.timeout(patience):
            await client.connect(
                address.url,
                name=name,
                error_cb=on_error,
                disconnected_cb=on_disconnect,
                reconnected_cb=on_reconnect,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,  # pyright: ignore[reportArgumentType] -- hinted int, used as seconds of any kind
                pending_size=16 * 1024 * 1024,
                tls=address.tls(),
                user_credentials=None if address.credentials is None else str(address.credentials),
            )
            met = True
            return client
    except (TimeoutError, OSError, nats.errors.Error) as error:
        why = told or str(error) or type(error).__name__
        raise TransientError(
            f"no NATS server answers at {address.shown} within {patience:g} s ({why}); "
            "start one, or set MUSTER_NATS_URL to where it listens"
        ) from error
