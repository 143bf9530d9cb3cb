"""Type names and classes: what is not known is an error, never a skip."""

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given
from hypothesis import strategies as st

from muster.events.claims.v1 import claims_pb2
from muster.type.v1.event_batch_pb2 import EventBatch
from muster_eventstore.codec import BATCH, BadPayload, Batch, Codec, Decoded, Garbage, UnknownType
from muster_eventstore.envelope import to_headers
from muster_eventstore.testing import a_meta

CODEC = Codec.of_modules(claims_pb2)
RELEASED = claims_pb2.GangReleased(gang_id="g", cause="consumed")


@given(st.lists(st.text(max_size=10), max_size=5), st.integers(0, 2**63), st.integers(0, 2**63), st.text(max_size=10))
def test_a_batch_survives(gangs: list[str], version: int, token: int, command: str) -> None:
    batch = Batch(tuple(claims_pb2.GangReleased(gang_id=gang) for gang in gangs), version, token, command)
    assert CODEC.decode_batch(CODEC.encode(batch)) == batch


def test_the_modules_top_level_messages_are_known() -> None:
    assert "muster.events.claims.v1.GangBooked" in CODEC.types
    assert not any("Entry" in name for name in CODEC.types)


def test_an_unknown_event_makes_the_whole_batch_an_error() -> None:
    wide = Codec([*(type(RELEASED),), StringValue])
    data = wide.encode(Batch((RELEASED, StringValue(value="x"))))
    assert CODEC.decode_batch(data) == UnknownType("google.protobuf.StringValue")


def test_an_event_of_an_unregistered_type_is_not_written() -> None:
    with pytest.raises(KeyError):
        CODEC.encode(Batch((StringValue(value="x"),)))


def test_broken_bytes_are_an_error_that_names_the_type() -> None:
    assert isinstance(CODEC.decode_batch(b"\xff\xff\xff"), BadPayload)
    broken = EventBatch()
    broken.events.add(type="muster.events.claims.v1.GangReleased", payload=b"\xff\xff")
    answer = CODEC.decode_batch(broken.SerializeToString())
    assert isinstance(answer, BadPayload)
    assert answer.type == "muster.events.claims.v1.GangReleased"


def test_a_received_message_is_a_batch_or_a_single_fact_by_its_type() -> None:
    batch = Batch((RELEASED, RELEASED), 2)
    meta = a_meta("m", type=BATCH)
    assert CODEC.decode(to_headers(meta), CODEC.encode(batch)) == Decoded(meta, batch)
    single = a_meta("m", type="muster.events.claims.v1.GangReleased")
    assert CODEC.decode(to_headers(single), RELEASED.SerializeToString()) == Decoded(single, Batch((RELEASED,)))


def test_a_message_of_nobody_is_garbage() -> None:
    assert isinstance(CODEC.decode({}, b"hello"), Garbage)
    unknown = a_meta("m", type="muster.events.gangs.v1.GangEnded")
    assert CODEC.decode(to_headers(unknown), b"") == UnknownType("muster.events.gangs.v1.GangEnded")
