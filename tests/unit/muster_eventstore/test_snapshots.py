"""Snapshot files: whatever is not exactly what was saved is as good as absent."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from muster_eventstore.snapshots import FileSnapshots, Snapshot, pack, unpack

SNAPSHOT = Snapshot("claims", "2026", 7, 3, b"\x00line\nline")


@given(st.text(), st.text(), st.integers(0, 2**53), st.integers(0, 99), st.binary())
def test_a_snapshot_survives(stream: str, incarnation: str, sequence: int, schema: int, data: bytes) -> None:
    snapshot = Snapshot(stream, incarnation, sequence, schema, data)
    assert unpack(pack(snapshot)) == snapshot


@given(st.integers(0, len(pack(SNAPSHOT)) - 1))
def test_a_torn_or_damaged_snapshot_is_absent(at: int) -> None:
    blob = pack(SNAPSHOT)
    assert unpack(blob[:at]) is None
    damaged = unpack(blob[:at] + bytes([blob[at] ^ 0x20]) + blob[at + 1 :])
    assert damaged is None or damaged.data == SNAPSHOT.data


async def test_the_newest_snapshot_is_read_back(tmp_path: Path) -> None:
    store = FileSnapshots(tmp_path / "snapshots")
    assert await store.load("a/b") is None
    await store.save("a/b", SNAPSHOT)
    newer = Snapshot("claims", "2026", 9, 3, b"newer")
    await store.save("a/b", newer)
    await store.save("a-b", SNAPSHOT)
    assert await store.load("a/b") == newer
    assert await store.load("a-b") == SNAPSHOT
    assert len(list((tmp_path / "snapshots").iterdir())) == 2


async def test_a_directory_that_cannot_be_written_is_logged_and_not_fatal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = FileSnapshots(tmp_path / "file")
    await store.save("a", SNAPSHOT)
    assert await store.load("a") is None
