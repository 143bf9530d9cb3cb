"""Copies of streams, on a real server."""

import json
from pathlib import Path

import pytest

from muster_eventstore import JetStreamStore, PermanentError, backup_stream, copies_in, restore_stream

GANG = "muster.gangs.local.gang.g1"


async def published(store: JetStreamStore, number: int) -> None:
    for index in range(number):
        await store.client.jetstream().publish(GANG, b"%d" % index * 3_000)


async def contents(store: JetStreamStore) -> list[tuple[int, bytes]]:
    state = await store.state("gangs")
    messages = [await store.get("gangs", sequence) for sequence in range(1, state.last_sequence + 1)]
    return [(message.sequence, message.data) for message in messages if message is not None]


async def test_a_stream_comes_back_with_its_messages_sequences_and_consumers(
    store: JetStreamStore, tmp_path: Path
) -> None:
    js, told = store.client.jetstream(), list[int]()
    await published(store, 200)
    await js.delete_msg("gangs", 7)
    reader = await js.pull_subscribe(GANG, durable="reader", stream="gangs")
    for message in await reader.fetch(5):
        await message.ack_sync()
    before = await contents(store)
    copied = await backup_stream(store.client, "gangs", tmp_path, told.append)
    assert (copied.stream, copied.messages, copied.bytes) == ("gangs", 199, sum(told))
    await js.delete_stream("gangs")
    assert copies_in(tmp_path) == [tmp_path / "gangs"]
    restored = await restore_stream(store.client, tmp_path / "gangs", told.append)
    assert restored == copied
    assert await contents(store) == before
    assert (await js.consumer_info("gangs", "reader")).ack_floor.stream_seq == 5  # pyright: ignore[reportOptionalMemberAccess] -- a durable has one


async def test_what_cannot_be_copied_or_brought_back_is_refused_with_the_reason(
    store: JetStreamStore, tmp_path: Path
) -> None:
    with pytest.raises(PermanentError, match="stream not found"):
        await backup_stream(store.client, "nobody", tmp_path, lambda _: None)
    await published(store, 3)
    await backup_stream(store.client, "gangs", tmp_path, lambda _: None)
    with pytest.raises(PermanentError, match="holds a copy already"):
        await backup_stream(store.client, "gangs", tmp_path, lambda _: None)
    with pytest.raises(PermanentError, match="already in use"):
        await restore_stream(store.client, tmp_path / "gangs", lambda _: None)
    assert len(await contents(store)) == 3


@pytest.mark.parametrize("damage", ["no data", "no description", "a description that is no JSON", "half the data"])
async def test_a_damaged_copy_is_refused(store: JetStreamStore, tmp_path: Path, damage: str) -> None:
    await published(store, 50)
    await backup_stream(store.client, "gangs", tmp_path, lambda _: None)
    data, described = tmp_path / "gangs" / "stream.tar.s2", tmp_path / "gangs" / "stream.json"
    match damage:
        case "no data":
            data.unlink()
        case "no description":
            described.unlink()
        case "half the data":
            data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
        case _:
            described.write_text("{")
    await store.client.jetstream().delete_stream("gangs")
    with pytest.raises(PermanentError):
        await restore_stream(store.client, tmp_path / "gangs", lambda _: None)


async def test_a_copy_that_lacks_its_description_is_not_listed(store: JetStreamStore, tmp_path: Path) -> None:
    await backup_stream(store.client, "gangs", tmp_path, lambda _: None)
    assert json.loads((tmp_path / "gangs" / "stream.json").read_text())["config"]["name"] == "gangs"
    (tmp_path / "gangs" / "stream.json").unlink()
    assert copies_in(tmp_path) == []
