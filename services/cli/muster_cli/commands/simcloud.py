"""`muster simcloud`: the simulated cloud as a server that the Cluster Autoscaler, or Muster, can order nodes from."""

from pathlib import Path
from typing import Annotated

import typer

from muster_cli.console import stderr
from muster_cli.exits import UserError
from muster_cli.live.addresses import default_state
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, StateOption

_PANEL = "Mutual TLS"
CertOption = Annotated[
    Path | None,
    typer.Option("--cert", help="PEM certificate of the server", rich_help_panel=_PANEL, show_default=False),
]
KeyOption = Annotated[
    Path | None, typer.Option("--key", help="PEM key of the certificate", rich_help_panel=_PANEL, show_default=False)
]
ClientCaOption = Annotated[
    Path | None,
    typer.Option(
        "--client-ca", help="PEM of who issues clients' certificates", rich_help_panel=_PANEL, show_default=False
    ),
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(help="nodes and slices register in this API server instead of the state directory"),
]


def simcloud(
    listen: Annotated[str, typer.Option(help="host:port; port 0 for any free one")] = "127.0.0.1:8086",
    load: Annotated[
        list[Path] | None, typer.Option("--load", envvar="MUSTER_LOAD", help="dump with the NodeGroups to sell")
    ] = None,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    seed: Annotated[int, typer.Option(help="what the cloud leaves to chance")] = 1,
    kubeconfig: KubeconfigOption = None,
    context: Annotated[str, typer.Option(help="context of the kubeconfig; the current one by default")] = "",
    cert: CertOption = None,
    key: KeyOption = None,
    client_ca: ClientCaOption = None,
) -> None:
    """Serve the simulated cloud over the Cluster Autoscaler's externalgrpc protocol.

    Node groups with driver `simulated` or `externalgrpc` of the dump are sold. A client's cloud config needs the line
    `address: HOST:PORT`, and with TLS `cert`, `key` and `cacert`.
    """
    if not load:
        raise UserError("--load is missing: name a dump with NodeGroups, for example --load examples/fleet")
    for path in load:
        if not path.exists():
            raise UserError(f"--load {path}: there is no such file or directory")
    _check_tls(cert, key, client_ca)
    if kubeconfig is not None and not kubeconfig.is_file():
        raise UserError(f"--kubeconfig {kubeconfig}: there is no such file")
    from muster_kubeapi import KubeConfig
    from muster_provisioner.adapters.served_cloud.opened import CloudOptions
    from muster_provisioner.bootstrap import build_simcloud
    from muster_servicekit.grpc import Tls
    from muster_servicekit.runtime import Runtime, run_service
    from muster_servicekit.settings import ServiceSettings, read_settings
    from muster_servicekit.telemetry import set_up_logging
    from muster_types import ClusterId

    settings = read_settings(ServiceSettings)
    set_up_logging("simcloud", format=settings.log_format, level=settings.log_level)
    access = KubeConfig(kubeconfig, context) if kubeconfig is not None or context else None
    options = CloudOptions(tuple(load), state or default_state(), ClusterId(cluster), seed, access)
    tls = None if cert is None or key is None else Tls(cert, key, client_ca)

    async def wire(runtime: Runtime) -> None:
        built = await build_simcloud(runtime, options, listen, tls=tls)
        stderr.print(f"the simulated cloud serves on {built.grpc_address}", markup=False)

    raise typer.Exit(run_service("simcloud", wire, grace=settings.stop_grace))


def _check_tls(cert: Path | None, key: Path | None, client_ca: Path | None) -> None:
    if (cert is None) != (key is None):
        raise UserError("--cert and --key go together: name both, or neither to serve without TLS")
    if client_ca is not None and cert is None:
        raise UserError("--client-ca needs --cert and --key: without them there is no TLS")
    for option, path in (("--cert", cert), ("--key", key), ("--client-ca", client_ca)):
        if path is not None and not path.is_file():
            raise UserError(f"{option} {path}: there is no such file")
