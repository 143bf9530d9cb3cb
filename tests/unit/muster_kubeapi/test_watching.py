"""Lines of a watch, wherever the network cuts them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_kubeapi import Expired, Resource, Unreachable
from muster_kubeapi.watching import Changes, read_lines, split_lines

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


def a_line(kind: str, version: str, name: str = "n1") -> bytes:
    return orjson.dumps({"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}) + b"\n"


def summary(told: Changes | None) -> tuple[list[tuple[bool, object]], str]:
    assert told is not None
    return [(change.gone, change.obj["metadata"]) for change in told.changes], told.version


def test_changes_come_in_order_with_the_last_version() -> None:
    told = read_lines(NODES, a_line("ADDED", "5") + a_line("MODIFIED", "6") + a_line("DELETED", "7"))
    changes, version = summary(told)
    assert [gone for gone, _ in changes] == [False, False, True]
    assert version == "7"


def test_a_bookmark_moves_the_version_and_changes_nothing() -> None:
    assert summary(read_lines(NODES, a_line("BOOKMARK", "9"))) == ([], "9")


def test_an_unknown_type_of_event_changes_nothing() -> None:
    assert summary(read_lines(NODES, a_line("SOMETHING", "9"))) == ([], "9")


def test_an_error_is_raised_as_what_it_says() -> None:
    gone = orjson.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}})
    with pytest.raises(Expired):
        read_lines(NODES, a_line("ADDED", "5") + gone)
    busy = orjson.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcd"}})
    with pytest.raises(Unreachable, match="etcd"):
        read_lines(NODES, busy)


@pytest.mark.parametrize("line", [b"{", b"nonsense", b"[]", b"{}", b'{"type":"ADDED"}', b'{"type":"ADDED","object":7}'])
def test_a_line_that_is_no_event_breaks_the_watch(line: bytes) -> None:
    with pytest.raises(Unreachable, match="watch of nodes"):
        read_lines(NODES, line + b"\n")


@given(st.lists(st.sampled_from([b"a\n", b"\n", b"bcd\n", "é\n".encode(), b"x" * 50 + b"\n"])), st.data())
def test_lines_are_the_same_wherever_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(lines)
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    rest, told = b"", b""
    for start, end in zip([0, *places], [*places, len(whole)], strict=True):
        complete, rest = split_lines(rest, whole[start:end])
        assert not complete or complete.endswith(b"\n")
        told += complete
    assert told == whole
    assert rest == b""
