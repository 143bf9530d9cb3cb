"""Connecting, and the fast header parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from muster_eventstore import NatsAddress, TransientError, connect
from muster_eventstore.connection import FastClient

LINES = st.lists(st.binary(max_size=12) | st.sampled_from([b"a: b", b"a:b", b"a b: c", b": x", b"k:", b"\xc3\xbc: v"]))


@given(LINES)
def test_headers_are_parsed_as_the_client_parses_them(lines: list[bytes]) -> None:
    raw = b"\r\n".join(lines)
    theirs = Client._parse_header_lines(raw)
    assert FastClient._parse_header_lines(raw) == theirs


async def test_no_server_is_told_with_its_address_and_what_to_do() -> None:
    with pytest.raises(TransientError, match=r"no NATS server answers at nats://127\.0\.0\.1:1 .*MUSTER_NATS_URL"):
        await connect(NatsAddress("nats://127.0.0.1:1"), "test", patience=0.2)
