"""`muster request`: ask for the capacity of a gang and follow it."""

from typing import Annotated

import orjson
import typer

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.api.capacity.v1.capacity_service_pb2_grpc import CapacityServiceStub
from muster_cli.console import Output, print_document, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live import clients
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.gangs import ENDS, READY_STATES, print_gang, to_document
from muster_cli.live.timeline import follow
from muster_cli.offline.dumps import Dump, read_dump
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption
from muster_kube import Manifest

SUPPORTING = frozenset({"PodTemplate", "ResourceClaimTemplate", "ResourceClaim", "PodGroup"})


def request(
    paths: Annotated[list[str], typer.Argument(metavar="FILE...", help="a ProvisioningRequest and what it refers to")],
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="follow the gang until it is offered or ends")] = True,
    until_consumed: Annotated[
        bool, typer.Option("--until-consumed", help="follow it until its pods are bound")
    ] = False,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for capacity, all or nothing. The same request again gives the same gang.

    Exit status 0: the capacity is there; 1: there is none, and why; 2: bad input; 3: the services do not answer.

    Examples:

      muster request examples/story-1

      kubectl get provisioningrequests,podtemplates,resourceclaimtemplates -o yaml | muster request - --no-wait
    """
    dump = read_dump(paths)
    with clients.capacity(Addresses(state or default_state())) as capacity:
        gang = ask(capacity, cluster, dump)
        if wait:
            if output is Output.TABLE:
                stdout.print(f"[bold]{gang}[/]", soft_wrap=True)
            events = capacity.WatchGang(pb.WatchGangRequest(cluster=cluster, gang_id=gang, until_end=True))
            until = ENDS if until_consumed else ENDS | READY_STATES
            if output is Output.TABLE:
                follow(events, until=until)
            else:
                for event in events:
                    if event.state in until:
                        break
            events.cancel()
        view = capacity.GetGang(pb.GetGangRequest(cluster=cluster, gang_id=gang)).gang
    if output is not Output.TABLE:
        print_document(to_document(view), output)
    elif wait:
        stdout.print()
        print_gang(view)
    else:
        stdout.print(gang, markup=False)
        stderr.print(f"follow it with `muster gang watch {gang}`", markup=False)
    raise typer.Exit(ExitStatus.NO if wait and view.state not in READY_STATES else ExitStatus.YES)


def ask(capacity: CapacityServiceStub, cluster: str, dump: Dump) -> str:
    """Ask for the one ProvisioningRequest of a dump with everything that stands beside it; the gang's id."""
    wanted = [manifest for manifest in dump.manifests if manifest.key.kind == "ProvisioningRequest"]
    if len(wanted) != 1:
        names = ", ".join(str(manifest.key) for manifest in wanted) or "none"
        raise UserError(f"want exactly one ProvisioningRequest, found {len(wanted)}: {names}")
    return capacity.RequestCapacity(_message(cluster, wanted[0], dump.manifests)).gang_id


def _message(cluster: str, wanted: Manifest, manifests: tuple[Manifest, ...]) -> pb.RequestCapacityRequest:
    return pb.RequestCapacityRequest(
        cluster=cluster,
        request_id=_request_id(wanted),
        request_json=orjson.dumps(wanted.obj),
        objects_json=[orjson.dumps(m.obj) for m in manifests if m.key.kind in SUPPORTING],
    )


def _request_id(wanted: Manifest) -> str:
    """The object's uid, or its name: the same file twice is the same wish."""
    metadata = wanted.obj.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return str(uid or f"{wanted.key.namespace}/{wanted.key.name}")
