"""How a process shows itself to gRPC servers, and knows them: TLS of the calling side."""

from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc import aio

from muster_servicekit.settings import ServiceSettings


@dataclass(frozen=True, slots=True)
class ClientTls:
    """PEM files: the authority of the servers, and our own certificate where they ask for one."""

    ca: Path
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """What a channel is opened with. Raises OSError naming a file that cannot be read."""
        own = None if self.certificate is None or self.key is None else (self.certificate, self.key)
        return grpc.ssl_channel_credentials(
            self.ca.read_bytes(),
            None if own is None else own[1].read_bytes(),
            None if own is None else own[0].read_bytes(),
        )


def settings_client_tls(settings: ServiceSettings) -> ClientTls | None:
    """The authority that MUSTER_GRPC_CA names, with the certificate that the process serves with; None: no TLS."""
    if settings.grpc_ca is None:
        return None
    return ClientTls(settings.grpc_ca, settings.grpc_certificate, settings.grpc_key)


def open_channel(address: str, tls: ClientTls | None) -> aio.Channel:
    """A channel to host:port."""
    return aio.insecure_channel(address) if tls is None else aio.secure_channel(address, tls.credentials())
