"""Muster with every wire closed: NATS knows each service by its certificate, gRPC asks both sides for one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import trustme

from muster_eventstore import NatsAddress
from muster_servicekit.grpc_client import ClientTls
from support.deployment import ROOT
from support.nats_server import CrashingNats
from support.processes import SCHEDULER, SERVICES, MusterProcesses, ServiceProcess

OPERATOR = "operator"
PERMISSIONS = ROOT / "deploy" / "nats" / "users.conf"


def name_of(service: str) -> str:
    """What a service's certificate says."""
    return f"{service}.muster.svc"


@dataclass(frozen=True, slots=True)
class Certificates:
    """One authority, and a certificate for each service, the operator and the server."""

    home: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.home / "ca.pem"

    def issue(self) -> "Certificates":
        """Write all of them."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.authority.cert_pem.write_to_path(str(self.ca))
        for service in (*SERVICES, SCHEDULER, OPERATOR, "nats"):
            # Both names: NATS maps by the first that is a user, gRPC clients check where they connect to.
            issued = self.authority.issue_cert(name_of(service), "127.0.0.1", "localhost")
            issued.private_key_pem.write_to_path(str(self.key(service)))
            self.certificate(service).write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        return self

    def certificate(self, service: str) -> Path:
        return self.home / f"{service}.pem"

    def key(self, service: str) -> Path:
        return self.home / f"{service}.key"

    def address(self, url: str, service: str) -> NatsAddress:
        """The server as the service sees it."""
        return NatsAddress(url, None, self.ca, self.certificate(service), self.key(service))

    def environment(self, service: str) -> dict[str, str]:
        """What makes a service show and ask for certificates."""
        own = {"CERTIFICATE": str(self.certificate(service)), "KEY": str(self.key(service)), "CA": str(self.ca)}
        return {
            **{f"MUSTER_NATS_{part}": path for part, path in own.items()},
            **{f"MUSTER_GRPC_{part}": path for part, path in own.items()},
            "MUSTER_GRPC_CLIENT_CA": str(self.ca),
        }

    def client(self, service: str) -> ClientTls:
        """How the service calls others."""
        return ClientTls(self.ca, self.certificate(service), self.key(service))


class SecuredNats(CrashingNats):
    """With the users of deploy/nats, who are known by their certificates."""

    def __init__(self, home: Path, certificates: Certificates) -> None:
        super().__init__(home)
        self._certificates = certificates

    def _config(self) -> str:
        held = self._certificates
        files = {"cert_file": held.certificate("nats"), "key_file": held.key("nats"), "ca_file": held.ca}
        tls = [f"  {name}: {json.dumps(str(path))}" for name, path in files.items()]
        (self.home / "users.conf").write_text(PERMISSIONS.read_text())
        return "\n".join([super()._config(), "include users.conf", "tls {", *tls, "  verify_and_map: true", "}", ""])


@dataclass(slots=True)
class SecuredProcesses(MusterProcesses):
    """As `MusterProcesses`, with TLS on every wire."""

    certificates: Certificates = field(init=False)

    def make_nats(self) -> CrashingNats:
        self.certificates = Certificates(self.home / "tls").issue()
        return SecuredNats(self.home / "nats", self.certificates)

    def operator_address(self) -> NatsAddress:
        return self.certificates.address(self.nats.url, OPERATOR)

    def service(self, name: str) -> ServiceProcess:
        made = super(SecuredProcesses, self).service(name)
        made.credentials = self.certificates.client(OPERATOR).credentials()
        return made

    def environment(self, name: str) -> dict[str, str]:
        return {**super(SecuredProcesses, self).environment(name), **self.certificates.environment(name)}

    def command_environment(self) -> dict[str, str]:
        return {
            **super(SecuredProcesses, self).command_environment(),
            **self.certificates.environment(OPERATOR),
        }
