"""Where a cluster's API server is and who we are to it, by the configuration code of the `kubernetes` package.

Everything is read again on demand: tokens of service accounts, kubeconfigs and exec plugins rotate.
"""

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from muster_kubeapi.errors import AccessInvalid

if TYPE_CHECKING:
    from kubernetes.aio.client.configuration import Configuration

_HOST = "KUBERNETES_SERVICE_HOST"  # set in every pod
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """A kubeconfig and a context in it. `path` None: $KUBECONFIG or ~/.kube/config; `context` "": the current one."""

    path: Path | None = None
    context: str = ""

    def exists(self) -> bool:
        """Whether any of the files is there."""
        return any(Path(file).expanduser().is_file() for file in self.files.split(os.pathsep) if file)

    @property
    def files(self) -> str:
        """The files as kubectl takes them, joined by the path separator."""
        return str(self.path) if self.path else os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


@dataclass(frozen=True, slots=True)
class InCluster:
    """The service account of a pod: `token` and `ca.crt` in `account`, the address in the environment."""

    account: Path = _ACCOUNT
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


Access = KubeConfig | InCluster


@dataclass(frozen=True, slots=True)
class Tls:
    """What a TLS context is made from; `digest` covers the contents, so that a rotated certificate is noticed."""

    ca_file: str
    certificate_file: str
    key_file: str
    verify: bool
    strict: bool
    digest: str

    def context(self) -> ssl.SSLContext:
        """Raises OSError and ssl.SSLError for files that are gone or unusable."""
        context = ssl.create_default_context(cafile=self.ca_file or None)
        if self.certificate_file:
            context.load_cert_chain(self.certificate_file, self.key_file or None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if not self.strict:
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context


@dataclass(frozen=True, slots=True)
class Credentials:
    """An API server and a way to be known to it. `authorization` is the header's value, "" with none.

    `identity` tells clusters apart: a resourceVersion of one means nothing to another, even at the same address.
    """

    url: str
    authorization: str
    tls: Tls
    server_name: str
    proxy: str
    identity: str


def find_access(kubeconfig: Path | None, context: str = "") -> Access:
    """The named kubeconfig, else kubectl's, else the pod's service account."""
    chosen = KubeConfig(kubeconfig, context)
    if kubeconfig is not None or context or _HOST not in os.environ:
        return chosen
    return chosen if chosen.exists() else InCluster()


async def load(access: Access) -> Credentials:
    """The credentials as the files and plugins give them now. Raises AccessInvalid."""
    # Half a second of imports that a service without a live cluster need not spend.
    from kubernetes.aio.client.configuration import Configuration
    from kubernetes.aio.config.config_exception import ConfigException
    from kubernetes.aio.config.incluster_config import InClusterConfigLoader
    from kubernetes.aio.config.kube_config import load_kube_config

    read = Configuration()
    try:
        match access:
            case KubeConfig():
                if not access.exists():
                    raise AccessInvalid(f"no kubeconfig at {access.files}: name one by MUSTER_KUBECONFIG")
                await load_kube_config(access.files, access.context or None, read, persist_config=False)
            case InCluster():
                token, ca = access.account / "token", access.account / "ca.crt"
                loader = InClusterConfigLoader(
                    str(token), str(ca), try_refresh_token=False, environ=dict(access.environment)
                )
                loader.load_and_set(read)
        return await asyncio.to_thread(_credentials, read)
    except (ConfigException, OSError, ssl.SSLError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise AccessInvalid(f"{describe(access)} cannot be used: {error}") from error


def describe(access: Access) -> str:
    """Where the configuration stands, for a message."""
    match access:
        case KubeConfig():
            return f"kubeconfig {access.files}" + (f", context {access.context!r}" if access.context else "")
        case InCluster():
            return f"service account in {access.account}"


def _credentials(read: "Configuration") -> Credentials:
    host = str(read.host).rstrip("/")
    ca, certificate, key = (str(file or "") for file in (read.ssl_ca_cert, read.cert_file, read.key_file))
    contents = [Path(file).read_bytes() if file else b"" for file in (ca, certificate, key)]
    tls = Tls(
        ca,
        certificate,
        key,
        verify=bool(read.verify_ssl),
        strict=not read.disable_strict_ssl_verification,
        digest=sha256(b"\0".join(contents)).hexdigest(),
    )
    authorization = str(read.api_key.get("BearerToken") or "").strip()
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() == "bearer":
        authorization = f"Bearer {token.strip()}"
    identity = sha256(host.encode() + b"\0" + contents[0]).hexdigest()[:32]
    return Credentials(host, authorization, tls, str(read.tls_server_name or ""), str(read.proxy or ""), identity)
