"""Who the command is to NATS and to the services: the files that the environment names, as for a service."""

from muster_eventstore import NatsAddress
from muster_servicekit.grpc_client import ClientTls, settings_client_tls
from muster_servicekit.settings import ServiceSettings, read_settings


def client_tls() -> ClientTls | None:
    """How services are called; None without TLS."""
    return settings_client_tls(read_settings(ServiceSettings))


def nats_address(url: str) -> NatsAddress:
    """The server at `url`, with the credentials and certificates of the environment."""
    settings = read_settings(ServiceSettings)
    return NatsAddress(url, settings.nats_credentials, settings.nats_ca, settings.nats_certificate, settings.nats_key)
