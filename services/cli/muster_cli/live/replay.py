"""Folds recorded streams into an empty state, with the services' own folds; nothing is sent, nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from muster.api.capacity.v1 import capacity_service_pb2 as capacity_pb
from muster.api.inventory.v1 import inventory_service_pb2 as inventory_pb
from muster.api.matcher.v1 import matcher_service_pb2 as matcher_pb
from muster.api.provisioner.v1 import provisioner_service_pb2 as provisioner_pb
from muster_claim_matcher.bootstrap import replay as replay_ledger
from muster_cli.live import clients
from muster_cli.live.addresses import Addresses
from muster_cli.live.journal import CODEC, recorded
from muster_eventstore import Decoded, EventStore, StoredMessage
from muster_gang_coordinator.bootstrap import replay as replay_gangs
from muster_inventory.bootstrap import replay as replay_inventory
from muster_provisioner.bootstrap import replay as replay_orders
from muster_types import ClusterId

STATES = ("inventory", "ledger", "gangs", "orders")
_CONTEXT = 60


@dataclass(frozen=True, slots=True)
class Replayed:
    """A state after replay as canonical JSON: equal states give equal bytes. `sequence` is the last one folded;
    `passed_over` tells the messages that nobody can read: the services, which have parked them, pass them over too."""

    json: bytes
    sequence: int
    passed_over: tuple[str, ...] = ()

    @property
    def document(self) -> object:
        """The state as data."""
        return orjson.loads(self.json)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a running service holds what the replay gives."""

    same: bool
    sentence: str
    difference: str = ""


async def replay_all(store: EventStore, cluster: str) -> Mapping[str, Replayed]:
    """The states of inventory, ledger, gangs and orders after everything that is recorded."""
    folds = {
        "inventory": ("inventory", replay_inventory),
        "ledger": ("claims", replay_ledger),
        "gangs": ("gangs", replay_gangs),
        "orders": ("provisioning", replay_orders),
    }
    found: dict[str, Replayed] = {}
    for name, (stream, fold) in folds.items():
        messages: list[StoredMessage] = []
        passed_over: list[str] = []
        last = 0
        async for message in recorded(store, stream):
            last = message.sequence
            decoded = CODEC.decode(message.headers, message.data)
            if isinstance(decoded, Decoded):
                messages.append(message)
            else:
                passed_over.append(f"{stream}/{message.sequence} ({message.subject}): {decoded}")
        found[name] = Replayed(fold(messages, ClusterId(cluster)), last, tuple(passed_over))
    return found


def compare(addresses: Addresses, cluster: str, states: Mapping[str, Replayed]) -> Mapping[str, Verdict]:
    """Replayed states against what the services hold at least at the same sequence."""
    return {name: _verdict(states[name], _held(addresses, cluster, name, states[name].sequence)) for name in STATES}


def _held(addresses: Addresses, cluster: str, name: str, sequence: int) -> bytes:
    match name:
        case "inventory":
            with clients.inventory(addresses) as inventory:
                return inventory.ExportState(inventory_pb.ExportStateRequest(cluster=cluster)).json
        case "ledger":
            with clients.matcher(addresses) as matcher:
                request = matcher_pb.ExportStateRequest(cluster=cluster, min_sequence=sequence)
                return matcher.ExportState(request).json
        case "gangs":
            with clients.capacity(addresses) as capacity:
                request = capacity_pb.ExportStateRequest(cluster=cluster, min_sequence=sequence)
                return capacity.ExportState(request).json
        case _:
            with clients.provisioner(addresses) as provisioner:
                request = provisioner_pb.ExportStateRequest(cluster=cluster, min_sequence=sequence)
                return provisioner.ExportState(request).json


def _verdict(replayed: Replayed, held: bytes) -> Verdict:
    if replayed.json == held:
        return Verdict(True, f"the same {len(held)} bytes after replaying up to sequence {replayed.sequence}")
    at = next((i for i, (a, b) in enumerate(zip(replayed.json, held, strict=False)) if a != b), 0)
    start = max(0, at - _CONTEXT)
    return Verdict(
        False,
        f"differs at byte {at}; a service that is at work moves on while this is read, so try again when it is idle",
        f"  replayed …{replayed.json[start : at + _CONTEXT].decode(errors='replace')}…\n"
        f"  held     …{held[start : at + _CONTEXT].decode(errors='replace')}…",
    )
