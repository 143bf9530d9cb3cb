"""Every command and event of proto/ stands in exactly the documents it should: one writer, and all its readers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf.message import Message

from contract.asyncapi.documents import Told, all_documents, resolved, told
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_claim_matcher.bootstrap import codec_of_events as matcher_codec
from muster_eventstore import PermanentError
from muster_gang_coordinator.bootstrap import codec_of_events as coordinator_codec
from muster_inventory.bootstrap import codec_of_events as inventory_codec
from muster_inventory.entrypoints.asyncapi import SENT as INVENTORY_SENT
from muster_inventory.wire.events import NodeGroupWire, NodeWire, PoolWire
from muster_provisioner.bootstrap import codec_of_events as provisioner_codec
from muster_servicekit.asyncapi import Channel, messages_of

PROTO = Path(__file__).parents[3] / "proto"
INVENTORY, MATCHER, COORDINATOR = "inventory", "claim-matcher", "gang-coordinator"
PROVISIONER, WATCHER = "provisioner", "cluster-watcher"
DOCUMENTS = all_documents()
TOLD = {each for service, document in DOCUMENTS.items() for each in told(service, document)}

# docs/streams.md: the one writer of each stream, and its readers; and whom commands ask.
WRITERS = {
    observed_pb2: WATCHER,
    inventory_pb2: INVENTORY,
    claims_pb2: MATCHER,
    gangs_pb2: COORDINATOR,
    provisioning_pb2: PROVISIONER,
}
READERS = {
    observed_pb2: {INVENTORY, MATCHER, COORDINATOR},
    inventory_pb2: {COORDINATOR},
    claims_pb2: {COORDINATOR},
    gangs_pb2: {MATCHER},
    provisioning_pb2: {COORDINATOR},
}
ASKED = {claim_commands: MATCHER, gang_commands: COORDINATOR, order_commands: PROVISIONER}
NODE_GROUPS = {"NodeGroupDeclared", "NodeGroupWithdrawn", "TemplateMistrusted", "TemplateTrusted"}
CODECS = {
    INVENTORY: inventory_codec,
    MATCHER: matcher_codec,
    COORDINATOR: coordinator_codec,
    PROVISIONER: provisioner_codec,
}


def services(type_: str, action: str) -> set[str]:
    return {each.service for each in TOLD if (each.type, each.action) == (type_, action)}


@pytest.mark.parametrize(
    ("module", "message"),
    [(module, message) for module in WRITERS for message in messages_of(module)],
    ids=lambda each: each.__name__.rpartition(".")[2],
)
def test_an_event_is_sent_by_the_one_writer_of_its_stream_and_received_by_its_readers(
    module: ModuleType, message: type[Message]
) -> None:
    name = message.DESCRIPTOR.full_name
    readers = READERS[module] | ({PROVISIONER} if message.__name__ in NODE_GROUPS else set())
    assert services(name, "send") == {WRITERS[module]}
    assert services(name, "receive") == readers


@pytest.mark.parametrize(
    ("module", "message"),
    [(module, message) for module in ASKED for message in messages_of(module)],
    ids=lambda each: each.__name__.rpartition(".")[2],
)
def test_a_command_is_received_by_the_one_service_that_it_asks(module: ModuleType, message: type[Message]) -> None:
    name = message.DESCRIPTOR.full_name
    assert services(name, "receive") == {ASKED[module]}
    # Gangs are asked for and cancelled by callers of the coordinator's own, and by hand.
    senders = set() if module is gang_commands and message.__name__ != "WakeGang" else {COORDINATOR}
    assert services(name, "send") == senders


def test_the_documents_speak_of_every_package_of_proto_and_of_nothing_else() -> None:
    folders = {file.parent for kind in ("events", "commands") for file in PROTO.glob(f"muster/{kind}/*/v1/*.proto")}
    packages = {".".join(folder.relative_to(PROTO).parts) for folder in folders}
    assert {module.DESCRIPTOR.package for module in (*WRITERS, *ASKED)} == packages
    known = {
        message.DESCRIPTOR.full_name for modules in (WRITERS, ASKED) for one in modules for message in messages_of(one)
    }
    assert {each.type for each in TOLD} == known


BY_HAND = "muster.commands.gangs.>"  # what callers of the coordinator's own ask; see above


@pytest.mark.parametrize(
    "received",
    sorted({(t.service, t.address) for t in TOLD if t.action == "receive" and t.address != BY_HAND}),
    ids=":".join,
)
def test_a_reader_expects_what_the_writers_send_on_the_subjects_that_it_reads(received: tuple[str, str]) -> None:
    service, address = received
    expected = {t.type for t in TOLD if (t.service, t.action, t.address) == (service, "receive", address)}
    sent = {t.type for t in TOLD if t.action == "send" and overlap(t.address, address)}
    assert expected == sent


@pytest.mark.parametrize("service", CODECS)
def test_a_service_knows_every_type_that_it_is_said_to_read_or_write(service: str) -> None:
    known = CODECS[service]().types
    mine = {t.type for t in TOLD if t.service == service and (t.action == "receive" or _own(t))}
    assert mine <= known


def _own(each: Told) -> bool:
    """An event of its own stream; commands to others are encoded without a codec."""
    return ".events." in each.type


@pytest.mark.parametrize(
    ("channel", "wire"), list(zip(INVENTORY_SENT, (NodeWire(), NodeGroupWire(), PoolWire()), strict=True))
)
def test_each_event_of_the_inventory_stands_on_the_subjects_of_its_kind(
    channel: Channel, wire: NodeWire | NodeGroupWire | PoolWire
) -> None:
    for message in messages_of(inventory_pb2):
        try:
            wire.from_wire(message())
            mine = True
        except PermanentError as error:
            mine = error.reason != "FOREIGN_EVENT"
        assert mine == (message in channel.messages), message.__name__


@pytest.mark.parametrize("service", DOCUMENTS)
def test_a_document_is_asyncapi_3_and_every_reference_in_it_leads_somewhere(service: str) -> None:
    document = DOCUMENTS[service]  # type: ignore[index] -- a StrEnum's value
    assert document["asyncapi"] == "3.0.0"
    references = list(_references(document))
    assert references
    for reference in references:
        resolved(document, reference)


def _references(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def overlap(left: str, right: str) -> bool:
    """Whether some subject falls under both filters."""
    a, b = left.split("."), right.split(".")
    for one, other in zip(a, b, strict=False):
        if ">" in (one, other):
            return True
        if "*" not in (one, other) and one != other:
            return False
    return len(a) == len(b)
