"""Messages in AsyncAPI documents: the text of their schemas, and what takes the place of FastStream's bytes."""

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet
from google.protobuf.message import Message
from grpc_tools import protoc

from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1 import plan_pb2
from muster_eventstore import command_filter, sole_filter
from muster_servicekit.asyncapi import Carrier, Channel, messages_of, proto_text
from muster_servicekit.faststream_edge import describe_service

PROTO = Path(__file__).parents[3] / "proto"
WELL_KNOWN = Path(protoc.__file__).parent / "_proto"
MODULES = (
    claim_commands,
    gang_commands,
    claims_pb2,
    gangs_pb2,
    inventory_pb2,
    observed_pb2,
    provisioning_pb2,
    plan_pb2,  # has maps and choices
)
TYPES = [
    *(message for module in MODULES for message in messages_of(module)),
    plan_pb2.Placement,
    plan_pb2.Pin,
    plan_pb2.DeviceResult,
]


@pytest.mark.parametrize("message", TYPES, ids=lambda message: message.DESCRIPTOR.full_name)
def test_the_text_of_a_message_compiles_to_the_message(message: type[Message], tmp_path: Path) -> None:
    (tmp_path / "text.proto").write_text(proto_text(message))
    out = tmp_path / "out.binpb"
    paths = [f"-I{folder}" for folder in (tmp_path, PROTO, WELL_KNOWN)]
    assert protoc.main(["protoc", *paths, f"--descriptor_set_out={out}", "text.proto"]) == 0
    (file,) = FileDescriptorSet.FromString(out.read_bytes()).file
    assert file.package == message.DESCRIPTOR.file.package
    wanted = DescriptorProto()
    message.DESCRIPTOR.CopyToProto(wanted)
    assert _plain(file.message_type[0]) == _plain(wanted)


def _plain(message: DescriptorProto) -> DescriptorProto:
    """Fields in the order of their numbers, without the names that JSON gives them."""
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        _plain(nested)
    fields = sorted(message.field, key=lambda field: field.number)
    del message.field[:]
    message.field.extend(fields)
    return message


def test_parts_of_messages_are_no_messages_of_their_own() -> None:
    names = {message.__name__ for message in messages_of(gangs_pb2)}
    assert {"NodesOrdered", "SurplusReleased"} <= names
    assert not {"NodeOrder", "SurplusOrder"} & names


def test_a_document_names_each_message_with_its_schema_headers_and_carrier() -> None:
    document = describe_service(
        "claim-matcher",
        "The ledger.",
        received=[Channel("asked", command_filter("claims"), (claim_commands.ReleaseGang,), "Commands.")],
        sent=[Channel("ledger", sole_filter("claims", "ledger"), (claims_pb2.GangReleased,), "Events.", Carrier.BATCH)],
    )
    channels, operations, components = (document[part] for part in ("channels", "operations", "components"))
    assert isinstance(channels, dict)
    assert isinstance(operations, dict)
    assert isinstance(components, dict)
    assert {id: body["address"] for id, body in channels.items()} == {
        "asked": "muster.commands.claims.>",
        "ledger": "muster.claims.*.ledger",
    }
    assert {id: body["action"] for id, body in operations.items()} == {"asked": "receive", "ledger": "send"}
    assert channels["ledger"]["messages"] == {
        "GangReleased": {"$ref": "#/components/messages/muster.events.claims.v1.GangReleased"}
    }
    assert operations["ledger"]["messages"] == [{"$ref": "#/channels/ledger/messages/GangReleased"}]
    assert set(components["messages"]) == {
        "muster.commands.claims.v1.ReleaseGang",
        "muster.events.claims.v1.GangReleased",
    }
    asked = components["messages"]["muster.commands.claims.v1.ReleaseGang"]
    event = components["messages"]["muster.events.claims.v1.GangReleased"]
    assert asked["description"] == Carrier.ALONE.value
    assert event["description"] == Carrier.BATCH.value
    assert "string gang_id = 1;" in event["payload"]["schema"]
    assert set(components["schemas"]) == {"CloudEventHeaders", "muster.type.v1.EventBatch"}
    headers = components["schemas"]["CloudEventHeaders"]
    assert set(headers["required"]) <= set(headers["properties"])
    assert "muster-correlation-id" in headers["properties"]
