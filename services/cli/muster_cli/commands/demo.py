"""`muster demo`: three gangs against a simulated cloud, from request to bound pods."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster_cli.commands.request import ask
from muster_cli.console import print_table, stdout
from muster_cli.embedded.child import Child
from muster_cli.embedded.outcome import Outcome
from muster_cli.embedded.stories import STORIES, Story
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live import clients
from muster_cli.live.addresses import Addresses, ServiceName
from muster_cli.live.gangs import print_state
from muster_cli.live.timeline import follow
from muster_cli.offline.dumps import read_dump
from muster_cli.options import DEFAULT_CLUSTER
from muster_servicekit.embedded_nats import EmbeddedNats

EXAMPLES = Path("examples")


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="stay up afterwards, until Ctrl-C")] = False,
    examples: Annotated[
        Path, typer.Option("--examples", help="folder with fleet, story-1, story-2, story-3")
    ] = EXAMPLES,
    state: Annotated[Path, typer.Option("--state", help="emptied first")] = Path(".muster/demo"),
) -> None:
    """Start everything, load an H100 fleet, and tell three stories; exit status 0 when all end as told."""
    if not (examples / "fleet").is_dir():
        raise UserError(f"{examples / 'fleet'} is not there; run it from the project's root, or give --examples")
    if EmbeddedNats.running_at(state / "nats") is not None:
        raise UserError(f"a Muster runs on {state} already; stop it, or give this demo another --state")
    _empty(state)
    stdout.print("[bold]Muster demo[/]: starting NATS, five services and a simulated cloud in one process …")
    with Child(state, [examples / "fleet"]) as child:
        addresses = Addresses(state)
        _print_fleet(examples / "fleet")
        wrong = [f"{story.folder}: {problem}" for story in STORIES for problem in _tell(story, addresses, examples)]
        _print_places(addresses, state)
        for problem in wrong:
            stdout.print(f"[red]did not end as told[/]: {problem}", soft_wrap=True)
        if keep:
            stdout.print("staying up; stop with Ctrl-C")
            child.wait()
    stdout.print("stopped cleanly" if not wrong else "stopped", markup=False)
    raise typer.Exit(ExitStatus.NO if wrong else ExitStatus.YES)


def _empty(state: Path) -> None:
    if state.exists() and any(state.iterdir()) and not (state / "nats").exists():
        raise UserError(f"--state {state} is not empty and no Muster state; choose another folder")
    shutil.rmtree(state, ignore_errors=True)


def _print_fleet(fleet: Path) -> None:
    kinds: dict[str, int] = {}
    for manifest in read_dump([str(fleet)]).manifests:
        kinds[manifest.key.kind] = kinds.get(manifest.key.kind, 0) + 1
    stdout.print("loaded: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), markup=False)


def _tell(story: Story, addresses: Addresses, examples: Path) -> list[str]:
    stdout.print(f"\n[bold]{story.title}[/]")
    stdout.print(story.told, markup=False)
    dump = read_dump(story.paths(examples))
    with clients.capacity(addresses) as capacity:
        gang = ask(capacity, DEFAULT_CLUSTER, dump)
        follow(capacity.WatchGang(pb.WatchGangRequest(cluster=DEFAULT_CLUSTER, gang_id=gang, until_end=True)))
        view = capacity.GetGang(pb.GetGangRequest(cluster=DEFAULT_CLUSTER, gang_id=gang)).gang
    stdout.print()
    print_state(view)
    _print_outcome(addresses.state, view)
    return list(story.check(view))


def _print_outcome(state: Path, gang: pb.GangView) -> None:
    """What the requester sees in the simulated cluster."""
    outcome = Outcome(state)
    pods = outcome.bound_pods(gang.namespace, gang.name)
    if pods:
        stdout.print()
        print_table(("POD", "NODE", "DEVICES"), pods, empty="")
    conditions = ", ".join(outcome.conditions(gang.namespace, gang.name))
    stdout.print(f"\nProvisioningRequest {gang.namespace}/{gang.name}: {conditions}", markup=False, soft_wrap=True)


def _print_places(addresses: Addresses, state: Path) -> None:
    stdout.print("\n[bold]Where to look[/]")
    for service in ServiceName:
        stdout.print(f"  {service.value:<17} gRPC {addresses.grpc(service)}", markup=False)
    stdout.print(
        f"  `make demo KEEP=1` stays up; then, after `export MUSTER_STATE_DIR={state}`:\n"
        "  muster status                     services, nodes, pools, gangs, orders\n"
        "  muster gang list                  then: muster gang show GANG --history\n"
        "  muster events --gang GANG         every decision with its cause\n"
        "  muster events --replay --compare  the same state from the events alone\n"
        "  muster audit examples/fleet       why it is pending; needs no service\n"
        "  (muster is .venv/bin/muster)\n",
        markup=False,
        soft_wrap=True,
    )
